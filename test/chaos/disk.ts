import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync } from 'node:fs'

/** A folder on a file system of its own that can be made full, and get its room back: a real ENOSPC for whoever writes there. */
export class Disk {
  private constructor(
    readonly folder: string,
    private readonly megabytes: number,
  ) {}

  /** @returns undefined where this user may not mount. */
  static mount(folder: string, megabytes: number): Disk | undefined {
    mkdirSync(folder, { recursive: true })
    const disk = new Disk(folder, megabytes)
    return disk.#run('mount', ['-t', 'tmpfs', '-o', `size=${String(megabytes)}m`, 'headwater-chaos', folder])
      ? disk
      : undefined
  }

  /** Leaves this many bytes of room. */
  fill(room: number): void {
    const { blocks, bfree, bsize } = statfsSync(this.folder)
    this.#resize(String((blocks - bfree) * bsize + room))
  }

  free(): void {
    this.#resize(`${String(this.megabytes)}m`)
  }

  unmount(): void {
    this.#run('umount', ['-l', this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }

  #resize(size: string): void {
    if (!this.#run('mount', ['-o', `remount,size=${size}`, this.folder]))
      throw new Error(`${this.folder} could not be given ${size} bytes`)
  }

  #run(command: string, args: readonly string[]): boolean {
    return spawnSync(command, args, { stdio: 'ignore' }).status === 0
  }
}
