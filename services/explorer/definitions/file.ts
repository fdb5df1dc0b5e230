import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { coded, codeOf } from '../../../pipelines/errors.js'
import type { Logger } from '../../../pipelines/logger.js'

/** What is wrong with a file, and on which line (from 1). */
export class DefinitionFileError extends coded('HW_DEFINITIONS_INVALID') {
  constructor(
    readonly line: number,
    what: string,
  ) {
    super(`line ${String(line)}: ${what}`)
  }
}

export interface DefinitionFileOptions<T> {
  /** Undefined: there is none, and the value stays what it is at first. */
  readonly path: string | undefined
  readonly empty: T
  /** @throws FileFault. */
  readonly parse: (text: string) => T
  readonly logger: Logger
  /** Told of each new value. */
  readonly changed: () => void
}

const LOOK_EVERY_MS = 1_000

/**
 * A file that an operator edits while the service runs. It is read again when it has changed; one with a fault is refused, with
 * the line named in the log, and what was read before stays. Looks instead of watching: editors replace files, and network
 * file systems tell nothing.
 */
export class DefinitionFile<T> {
  readonly #options: DefinitionFileOptions<T>
  #value: T
  #seen = ''
  /** What was told last; empty: the file is in use. */
  #refusal = ''
  #timer: NodeJS.Timeout | undefined

  constructor(options: DefinitionFileOptions<T>) {
    this.#options = options
    this.#value = options.empty
  }

  get value(): T {
    return this.#value
  }

  /** Whether the file as it is now cannot be used. */
  get isRefused(): boolean {
    return this.#refusal !== ''
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    if (this.#options.path === undefined) return
    await this.#look()
    this.#again()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #again(): void {
    this.#timer = setTimeout(() => {
      void this.#look().then(() => {
        if (this.#timer !== undefined) this.#again()
      })
    }, LOOK_EVERY_MS)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const { path = '', parse, logger, changed } = this.#options
    let seen = ''
    try {
      const { mtimeMs, size, ino } = await stat(path)
      seen = `${String(mtimeMs)} ${String(size)} ${String(ino)}`
      if (seen === this.#seen) return
      this.#value = parse(textOf(await readFile(path)))
      this.#refusal = ''
      logger.info({ file: path }, 'definitions loaded')
      changed()
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error)
      const refusal = `${seen} ${what}`
      if (refusal !== this.#refusal)
        logger.error(
          { code: codeOf(error), file: path },
          `definitions rejected, keeping the previous ones: ${what}`,
        )
      this.#refusal = refusal
      // What could not be read may well be the next time: a chmod, or a disk that is back, leaves all of `seen` as it was.
      if (!(error instanceof DefinitionFileError)) seen = ''
    }
    this.#seen = seen
  }
}

/**
 * Without a byte order mark, which editors put there.
 * @throws FileFault where it is not UTF-8.
 */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes)
  const lines = bytes.toString('latin1').split('\n')
  const line = lines.findIndex((each) => !isUtf8(Buffer.from(each, 'latin1')))
  throw new DefinitionFileError(line + 1, 'is not UTF-8')
}

/** The line of a place in a text, from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
