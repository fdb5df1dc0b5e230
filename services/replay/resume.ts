import { readFile, rm, writeFile } from 'node:fs/promises'

/** How far a replay was, for the same command after it was killed. */
export class Resume {
  constructor(
    private readonly file: string,
    private readonly job: string,
  ) {}

  /** The last height that is done, -1 for none. */
  async done(): Promise<number> {
    try {
      const { job, done } = JSON.parse(await readFile(this.file, 'utf8')) as { job?: unknown; done?: unknown }
      return job === this.job && typeof done === 'number' ? done : -1
    } catch {
      return -1
    }
  }

  note(done: number): Promise<void> {
    return writeFile(this.file, JSON.stringify({ job: this.job, done }))
  }

  forget(): Promise<void> {
    return rm(this.file, { force: true })
  }
}
