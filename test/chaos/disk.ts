import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync } from 'node:fs'

const TRIES = 20

/** A folder on a file system of its own that can be filled and freed: processes that write there get a real ENOSPC. */
export class Disk {
  private constructor(
    readonly folder: string,
    private readonly megabytes: number,
  ) {}

  /** @returns undefined if this user may not mount. */
  static mount(folder: string, megabytes: number): Disk | undefined {
    mkdirSync(folder, { recursive: true })
    const disk = new Disk(folder, megabytes)
    return disk.#run('mount', ['-t', 'tmpfs', '-o', `size=${String(megabytes)}m`, 'headwater-chaos', folder])
      ? disk
      : undefined
  }

  /** Fills the disk except for this many bytes. */
  fill(room: number): void {
    // Processes may have written in the meantime more than the remaining room; then writing the filler fails.
    for (let tries = 0; tries < TRIES; tries++) {
      const { blocks, bfree, bsize } = statfsSync(this.folder)
      if (this.#resized(String((blocks - bfree) * bsize + room))) return
    }
    throw new Error(`${this.folder} could not be filled`)
  }

  free(): void {
    const size = `${String(this.megabytes)}m`
    if (!this.#resized(size)) throw new Error(`${this.folder} could not be freed to ${size}`)
  }

  unmount(): void {
    this.#run('umount', ['-l', this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }

  #resized(size: string): boolean {
    return this.#run('mount', ['-o', `remount,size=${size}`, this.folder])
  }

  #run(command: string, args: readonly string[]): boolean {
    return spawnSync(command, args, { stdio: 'ignore' }).status === 0
  }
}
