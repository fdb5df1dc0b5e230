import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { type Node, parseTree, type ParseError, printParseErrorCode } from 'jsonc-parser'
import { coded, codeOf } from '../../pipelines/errors.js'
import type { Logger } from '../../pipelines/logger.js'

/** An error in a definitions file, with its line (from 1). */
export class DefinitionFileError extends coded('HW_DEFINITIONS_INVALID') {
  constructor(
    readonly line: number,
    what: string,
  ) {
    super(`line ${String(line)}: ${what}`)
  }
}

export interface DefinitionFileOptions<T> {
  /** The path of the file; undefined if there is none, so that the value stays `empty`. */
  readonly path: string | undefined
  readonly empty: T
  /** Parses the content of the file. @throws DefinitionFileError. */
  readonly parse: (text: string) => T
  readonly logger: Logger
  /** Called after each new value. */
  readonly changed: () => void
}

const CHECK_EVERY_MS = 1_000

/**
 * A file that an operator edits while the service runs. It is reloaded when it has changed. A file with an error is rejected: the
 * line is logged, and the previous value stays in use. The file is polled, because editors replace files and network file systems
 * send no notifications.
 */
export class DefinitionFile<T> {
  readonly #options: DefinitionFileOptions<T>
  #value: T
  #seen = ''
  /** The error that was logged last; empty while the file is in use. */
  #refusal = ''
  #timer: NodeJS.Timeout | undefined

  constructor(options: DefinitionFileOptions<T>) {
    this.#options = options
    this.#value = options.empty
  }

  get value(): T {
    return this.#value
  }

  /** True if the current content of the file was rejected. */
  get isRefused(): boolean {
    return this.#refusal !== ''
  }

  /** Loads the file, then follows its changes. Resolves after the first attempt. */
  async start(): Promise<void> {
    if (this.#options.path === undefined) return
    await this.#reload()
    this.#schedule()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      void this.#reload().then(() => {
        if (this.#timer !== undefined) this.#schedule()
      })
    }, CHECK_EVERY_MS)
    this.#timer.unref()
  }

  async #reload(): Promise<void> {
    const { path = '', parse, logger, changed } = this.#options
    let version = ''
    try {
      const { mtimeMs, size, ino } = await stat(path)
      version = `${String(mtimeMs)} ${String(size)} ${String(ino)}`
      if (version === this.#seen) return
      this.#value = parse(textOf(await readFile(path)))
      this.#refusal = ''
      logger.info({ file: path }, 'definitions loaded')
      changed()
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error)
      const refusal = `${version} ${what}`
      if (refusal !== this.#refusal)
        logger.error(
          { code: codeOf(error), file: path },
          `definitions rejected, keeping the previous ones: ${what}`,
        )
      this.#refusal = refusal
      // A file that could not be read is read again: fixing its permissions or its disk changes nothing in `seen`.
      if (!(error instanceof DefinitionFileError)) version = ''
    }
    this.#seen = version
  }
}

/** Decodes UTF-8, without a byte order mark. @throws DefinitionFileError if it is not UTF-8. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes)
  const lines = bytes.toString('latin1').split('\n')
  const line = lines.findIndex((each) => !isUtf8(Buffer.from(each, 'latin1')))
  throw new DefinitionFileError(line + 1, 'is not UTF-8')
}

/** Returns the line of an offset in a text, from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** Parses a JSON array. @param what names its items in errors. @returns its items. @throws DefinitionFileError. */
export function parseArray(text: string, what: string): Node[] {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: false, disallowComments: true })
  const [error] = errors
  if (error !== undefined)
    throw new DefinitionFileError(
      lineAt(text, error.offset),
      `is not JSON: ${printParseErrorCode(error.error)}`,
    )
  if (root?.type !== 'array') throw new DefinitionFileError(1, `must be an array of ${what}`)
  return root.children ?? []
}
