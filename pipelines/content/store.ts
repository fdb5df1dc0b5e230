import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../errors.js'
import type { Logger } from '../logger.js'
import { BoundedThread } from '../worker-thread.js'
import type { DocumentJob } from './document-thread.js'
import { listFiles, readListed, type Listed } from './files.js'
import { ContentError, hashOf, type Draft, type FileError, type Page } from './page.js'
import { placePages } from './tree.js'

export interface ContentOptions {
  readonly logger: Logger
  /** Milliseconds between two scans of the folder. */
  readonly scanEveryMs?: number | undefined
}

const SCAN_EVERY_MS = 400
/** The maximum share of the time that scans may take: a large folder on a slow disk is scanned less often. */
const SCAN_SHARE = 0.05
/**
 * The longest interval that SCAN_SHARE may cause: a change is in use within two seconds, even if scans are slow because the
 * process is busy.
 */
const MAX_BETWEEN_SCANS_MS = 1_000
const SETTLE_MS = 40
const MAX_SETTLING_MS = 1_000

interface Known {
  readonly stamp: string
  readonly draft: Draft | undefined
  readonly error: FileError | undefined
}

interface Snapshot {
  readonly pages: readonly Page[]
  readonly byUrl: ReadonlyMap<string, Page>
  readonly errors: readonly FileError[]
  readonly version: string
}

/**
 * Reads a folder of Markdown and MDX, and reads files again when they change. The folder is scanned instead of watched, because
 * editors replace files, and network file systems and mounted volumes send no notifications. A folder that does not exist has no
 * pages until it does. If it disappears, its pages are kept; so is the previous page of a file with an error.
 */
export async function openContent(folder: string, options: ContentOptions): Promise<Content> {
  const content = new Content(folder, options)
  await content.scan()
  content.scheduleScan(0)
  return content
}

/** The current pages of a folder. */
export class Content {
  readonly #folder: string
  readonly #options: ContentOptions
  readonly #listeners = new Set<() => void>()
  readonly #thread = new BoundedThread<DocumentJob, Draft>('pipelines/content/document-thread', [
    ContentError,
  ])
  #known = new Map<string, Known>()
  #snapshot: Snapshot = { pages: [], byUrl: new Map(), errors: [], version: hashOf([]) }
  /** The error if the folder as a whole cannot be read. */
  #unreadable: FileError | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(folder: string, options: ContentOptions) {
    this.#folder = folder
    this.#options = options
  }

  /** A hash of all pages: it changes whenever a page changes, and is the same for the same pages in every process. */
  get version(): string {
    return this.#snapshot.version
  }

  /** Returns the pages in the order of a table of contents. A change replaces the array, so a reader never sees half of it. */
  pages(): readonly Page[] {
    return this.#snapshot.pages
  }

  page(url: string): Page | undefined {
    return this.#snapshot.byUrl.get(url)
  }

  /** Returns the errors of files whose current version cannot be served. The page of their previous version is kept, if there is one. */
  errors(): readonly FileError[] {
    const { errors } = this.#snapshot
    return this.#unreadable === undefined ? errors : [this.#unreadable, ...errors]
  }

  /** Calls the listener after each change of the pages. @returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#thread.close()
    this.#listeners.clear()
  }

  /** Schedules the next scan. @param tookMs duration of the last one. */
  scheduleScan(tookMs: number): void {
    if (this.#closed) return
    const atLeast = Math.min(tookMs / SCAN_SHARE, MAX_BETWEEN_SCANS_MS)
    const every = Math.max(this.#options.scanEveryMs ?? SCAN_EVERY_MS, atLeast)
    this.#timer = setTimeout(() => {
      const began = performance.now()
      void this.scan().then((read) => {
        this.scheduleScan(read ? 0 : performance.now() - began)
      })
    }, every)
    this.#timer.unref()
  }

  /** Reads what has changed in the folder. Never throws. @returns whether anything was read. */
  async scan(): Promise<boolean> {
    try {
      const listed = await listFiles(this.#folder)
      this.#unreadable = undefined
      if (this.#isKnown(listed)) return false
      await this.#read(this.#known.size === 0 ? listed : await this.#settled(listed))
      return true
    } catch (error) {
      const message = `the folder cannot be read: ${error instanceof Error ? error.message : String(error)}`
      if (this.#unreadable?.message !== message)
        this.#options.logger.error({ code: codeOf(error), folder: this.#folder }, message)
      this.#unreadable = { file: '.', line: 1, message }
      return false
    }
  }

  #isKnown(listed: readonly Listed[]): boolean {
    return (
      listed.length === this.#known.size &&
      listed.every(({ file, stamp }) => this.#known.get(file)?.stamp === stamp)
    )
  }

  /** Waits until two scans return the same: editors and checkouts write several files, and a file in several steps. */
  async #settled(listed: readonly Listed[]): Promise<readonly Listed[]> {
    const end = performance.now() + MAX_SETTLING_MS
    for (let before = listed; ;) {
      await sleep(SETTLE_MS)
      const now = await listFiles(this.#folder)
      if (performance.now() > end || stampsOf(now) === stampsOf(before)) return now
      before = now
    }
  }

  async #read(listed: readonly Listed[]): Promise<void> {
    const known = new Map<string, Known>()
    for (const each of listed) {
      const before = this.#known.get(each.file)
      known.set(each.file, before?.stamp === each.stamp ? before : await this.#readFile(each, before?.draft))
    }
    if (this.#closed) return
    this.#known = known
    this.#publish()
  }

  async #readFile(listed: Listed, lastGood: Draft | undefined): Promise<Known> {
    const { file, stamp } = listed
    try {
      const draft = await this.#thread.run([await readListed(listed), file])
      return { stamp, draft, error: undefined }
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown)
      const error = { file, line: thrown instanceof ContentError ? thrown.line : 1, message }
      this.#options.logger.error(
        { code: codeOf(thrown), file, line: error.line },
        `${lastGood === undefined ? 'not served' : 'served in its previous version'}: ${message}`,
      )
      return { stamp, draft: lastGood, error }
    }
  }

  #publish(): void {
    const known = [...this.#known]
    const drafted = known.flatMap(([file, { draft }]) => (draft === undefined ? [] : [{ file, draft }]))
    const { pages, errors } = placePages(drafted)
    for (const { file, message } of errors)
      if (!this.#snapshot.errors.some((before) => before.message === message))
        this.#options.logger.error({ code: 'HW_CONTENT_INVALID', file }, message)
    const version = hashOf(pages.map(({ hash }) => hash))
    const all = [...known.flatMap(([, { error }]) => error ?? []), ...errors]
    const changed = version !== this.#snapshot.version
    const { pages: before } = this.#snapshot
    this.#snapshot = {
      pages: changed ? pages : before,
      byUrl: new Map(pages.map((page) => [page.url, page])),
      errors: all,
      version,
    }
    if (!changed) return
    this.#options.logger.info({ pages: pages.length, errors: all.length }, 'content loaded')
    for (const listener of this.#listeners) listener()
  }
}

const stampsOf = (listed: readonly Listed[]): string =>
  listed.map(({ file, stamp }) => `${file} ${stamp}`).join('\n')
