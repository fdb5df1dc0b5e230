import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../logger.js'
import { type Draft, type Texts, withTexts } from '../page.js'

/** The result of parsing a file: the draft of its page, or the error in it. */
export type Parsed =
  | { readonly draft: Draft }
  | { readonly error: { readonly line: number; readonly message: string } }

/** The interval at which a claim is renewed, and the age from which its process has exited or is stuck. */
const RENEW_MS = 2_000
const ABANDONED_MS = 10_000
/** The minimum age of an entry that is removed: another process may have written it for a change that this one has not noticed yet. */
const MIN_UNUSED_MS = 600_000
/** The maximum size of entries that no current file needs. Beyond it they are removed at any age, oldest first. */
const MAX_UNUSED_BYTES = 64 * 2 ** 20

const ENTRY = '.json'
const CLAIM = '.claim'
const DRAFT = '.part'

/**
 * Parsed files on disk, which any number of processes share. The name of an entry is the hash of everything that determines its
 * contents (`keyOf`), so an entry is never out of date, and processes that write the same entry write the same bytes. Each entry
 * begins with its checksum: a truncated or altered entry counts as missing. An error of the file system is logged once, and then
 * everything works as with an empty cache.
 */
export class DraftCache {
  readonly #folder: string
  readonly #logger: Logger
  #hasFailed = false

  constructor(folder: string, logger: Logger) {
    this.#folder = folder
    this.#logger = logger
  }

  /** Returns an entry; undefined if there is none, or none that is intact. It is read at once, as the files of pages are. */
  get(key: string): Parsed | undefined {
    let bytes: Buffer
    try {
      bytes = readFileSync(this.#path(key, ENTRY))
    } catch {
      return undefined
    }
    const end = bytes.indexOf('\n')
    const body = bytes.subarray(end + 1)
    return end > 0 && bytes.toString('latin1', 0, end) === checksum(body) ? decoded(body) : undefined
  }

  /** Writes an entry. It is not synced: after a power failure its checksum shows whether it is complete. Never throws. */
  async put(key: string, parsed: Parsed): Promise<void> {
    const body = encoded(parsed)
    const part = `${this.#path(key, '')}-${randomBytes(6).toString('hex')}${DRAFT}`
    try {
      await mkdir(this.#folder, { recursive: true })
      await writeFile(part, `${checksum(body)}\n${body}`)
      await rename(part, this.#path(key, ENTRY))
      this.#hasFailed = false
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined)
      this.#failed(error)
    }
  }

  /**
   * Claims the work on an entry, so that of several processes only one does it. A claim is renewed while its process runs, and can be
   * taken over from a process that has exited. Without a writable folder everyone works alone. Never throws.
   * @returns a function that ends the claim; undefined if another process has it.
   */
  async claim(key: string): Promise<(() => Promise<void>) | undefined> {
    const path = this.#path(key, CLAIM)
    try {
      await mkdir(this.#folder, { recursive: true })
      const age = await ageOf(path)
      if (age !== undefined && Math.abs(age) > ABANDONED_MS) await rm(path, { force: true })
      await writeFile(path, '', { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
      this.#failed(error)
      return () => Promise.resolve()
    }
    const renewal = setInterval(() => {
      utimes(path, new Date(), new Date()).catch(() => undefined)
    }, RENEW_MS)
    renewal.unref()
    return async () => {
      clearInterval(renewal)
      await rm(path, { force: true }).catch(() => undefined)
    }
  }

  /**
   * Removes the entries of files that no longer exist, and what killed processes have left. Never throws.
   * @param keys of the current files.
   */
  async sweep(keys: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    const unused: { path: string; age: number; bytes: number }[] = []
    for (const name of names) {
      if (name.endsWith(ENTRY) && keys.has(name.slice(0, -ENTRY.length))) continue
      const path = join(this.#folder, name)
      const stats = await stat(path).catch(() => undefined)
      if (stats !== undefined) unused.push({ path, age: Date.now() - stats.mtimeMs, bytes: stats.size })
    }
    unused.sort((a, b) => a.age - b.age)
    let total = 0
    for (const { path, age, bytes } of unused) {
      if (path.endsWith(ENTRY)) total += bytes
      if (age > MIN_UNUSED_MS || (path.endsWith(ENTRY) && total > MAX_UNUSED_BYTES))
        await rm(path, { force: true }).catch(() => undefined)
    }
  }

  #path(key: string, ending: string): string {
    return join(this.#folder, key + ending)
  }

  #failed(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#logger.warn(
      { folder: this.#folder, reason },
      'parsed pages cannot be stored: the next start parses them again',
    )
  }
}

/** The time after which `sweep` removes an entry that has just become unused, in milliseconds. */
export const SWEEP_AFTER_MS = MIN_UNUSED_MS + 1_000

/** Returns the age of a file in milliseconds; undefined if it does not exist. */
async function ageOf(path: string): Promise<number | undefined> {
  const stats = await stat(path).catch(() => undefined)
  return stats === undefined ? undefined : Date.now() - stats.mtimeMs
}

/** Returns the body of an entry: a line without the texts of the page, and a line of its texts. */
function encoded(parsed: Parsed): string {
  if ('error' in parsed) return `${JSON.stringify(parsed)}\n`
  const { markdown, marked, structuredData, sections, ...draft } = parsed.draft
  return `${JSON.stringify({ draft })}\n${JSON.stringify({ markdown, marked, structuredData, sections })}`
}

/** Returns what `encoded` was given. The texts are parsed when they are read. */
function decoded(body: Buffer): Parsed {
  const end = body.indexOf('\n')
  const parsed = JSON.parse(body.toString('utf8', 0, end)) as Parsed
  if ('error' in parsed) return parsed
  return { draft: withTexts(parsed.draft, () => JSON.parse(body.toString('utf8', end + 1)) as Texts) }
}

const checksum = (body: string | Buffer): string => createHash('sha256').update(body).digest('hex')

/** Returns the key of an entry. @param parts everything that determines the entry. */
export const keyOf = (...parts: readonly unknown[]): string => checksum(JSON.stringify(parts))

/** Returns the folder of the parsed pages in DATA_DIR. */
export const draftsFolder = (dataDir: string): string => join(dataDir, 'docs-pages')
