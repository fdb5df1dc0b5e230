import { readFile, rm, writeFile } from 'node:fs/promises'

/** The progress of a replay in a file, so that the command continues after the process was killed. */
export class Resume {
  constructor(
    private readonly file: string,
    private readonly job: string,
  ) {}

  /** Returns the last height that was replayed, -1 if there is none or the file belongs to another job. */
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
