import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../errors.js'
import type { Logger } from '../logger.js'
import { type JobProgress, Pace } from '../pace.js'
import type { DocumentJob } from './document-thread.js'
import { DraftCache, type Parsed, SWEEP_AFTER_MS } from './cache/draft-cache.js'
import { includedStamp, isPartial, listFiles, readOrdering, readSource, type Listed } from './files.js'
import { FindingLog } from './finding-log.js'
import { LinkTargets } from './links.js'
import { ContentError, hashOf, type Draft, type FileError, type Finding, type Page } from './page.js'
import { Parser } from './cache/parser.js'
import { isOrderFile, type Ordering } from './site/order-file.js'
import { placePages, type PlacedPages } from './tree.js'

export interface ContentOptions {
  readonly logger: Logger
  /** Milliseconds between two scans of the folder. */
  readonly scanEveryMs?: number | undefined
  /** The folder in which parsed files are stored, which other processes may share. If left out, each start parses all files. */
  readonly cacheFolder?: string | undefined
  /** BCP 47 tags of the languages, that of the pages outside of their folders first; by the names of the folders if left out. */
  readonly languages?: readonly string[] | undefined
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
/** The interval at which files are tried again that another process is parsing. */
const TAKEN_MS = 25
/** The interval at which pages become visible during the first read. Placing them takes time in proportion to their number. */
const PUBLISH_EVERY_MS = 1_000
const LOG_EVERY_MS = 5_000

interface Known extends Includes {
  readonly stamp: string
  /** Key in the cache; undefined if the file could not be read. */
  readonly key: string | undefined
  readonly draft: Draft | undefined
  readonly error: FileError | undefined
}

/** The files that a page includes: their paths, in order, and their stamp. */
interface Includes {
  readonly included: readonly string[]
  readonly includedStamp: string
}

const NO_INCLUDES: Includes = { included: [], includedStamp: '' }

/** The files that order pages, as they were last read. */
interface Orderings {
  readonly stamps: string
  readonly all: readonly Ordering[]
  readonly errors: readonly FileError[]
}

interface Snapshot extends Pick<PlacedPages, 'defaultLanguage'> {
  readonly pages: readonly Page[]
  readonly byUrl: ReadonlyMap<string, Page>
  readonly targets: LinkTargets
  readonly errors: readonly FileError[]
  readonly findings: readonly Finding[]
  readonly version: string
}

const NOTHING: Snapshot = {
  pages: [],
  byUrl: new Map(),
  targets: new LinkTargets([]),
  defaultLanguage: undefined,
  errors: [],
  findings: [],
  version: hashOf([]),
}

/**
 * Reads a folder of Markdown and MDX, and reads files again when they change. The folder is scanned instead of watched, because
 * editors replace files, and network file systems and mounted volumes send no notifications. A folder that does not exist has no
 * pages until it does. If it disappears, its pages are kept; so is the previous page of a file with an error.
 * @returns the content when all of its pages are read.
 */
export async function openContent(folder: string, options: ContentOptions): Promise<Content> {
  const content = watchContent(folder, options)
  await content.complete
  return content
}

/** Reads a folder as `openContent` does, but returns at once: pages appear as they are read, until `complete`. */
export function watchContent(folder: string, options: ContentOptions): Content {
  const content = new Content(folder, options)
  content.start()
  return content
}

/** The current pages of a folder. */
export class Content {
  readonly #folder: string
  readonly #options: ContentOptions
  readonly #listeners = new Set<() => void>()
  readonly #cache: DraftCache | undefined
  readonly #parser: Parser
  #entries = new Map<string, Known>()
  readonly #findingLog: FindingLog
  #snapshot = NOTHING
  #partials: readonly string[] = []
  /** The files that order pages, as they were last listed. */
  #orderFiles: readonly Listed[] = []
  #orderings: Orderings = { stamps: '', all: [], errors: [] }
  /** The error if the folder as a whole cannot be read. */
  #unreadable: FileError | undefined
  #progress: JobProgress = { done: 0, total: 0, secondsLeft: undefined }
  #timer: NodeJS.Timeout | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #isComplete = false
  #closed = false
  #completed: () => void = () => undefined
  /** Resolves when the folder was read for the first time, or could not be read. */
  readonly complete = new Promise<void>((resolve) => {
    this.#completed = resolve
  })

  constructor(folder: string, options: ContentOptions) {
    this.#folder = folder
    this.#options = options
    const { cacheFolder, logger } = options
    this.#cache = cacheFolder === undefined ? undefined : new DraftCache(cacheFolder, logger)
    this.#parser = new Parser(this.#cache)
    this.#findingLog = new FindingLog(logger)
  }

  /** False during the first read: until then any page may be missing. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Progress of the first read, in files. */
  get progress(): JobProgress {
    return this.#progress
  }

  /** A hash of all pages: it changes whenever a page changes, and is the same for the same pages in every process. */
  get version(): string {
    return this.#snapshot.version
  }

  /** Returns the pages that lists show, in the order of a table of contents. A change replaces the array, so a reader never sees half of it. */
  pages(): readonly Page[] {
    return this.#snapshot.pages
  }

  /** The language of a reader of whom nothing is known, as a BCP 47 tag; undefined if the site does not say. */
  get defaultLanguage(): string | undefined {
    return this.#snapshot.defaultLanguage
  }

  /** Returns the page with a URL, also if no list shows it. */
  page(url: string): Page | undefined {
    return this.#snapshot.byUrl.get(url)
  }

  /** Returns the page with a path as other sites would write it, such as `guide/install` for `(docs)/01-guide/02-install.mdx`. */
  pageByAlias(path: string): Page | undefined {
    const url = this.#snapshot.targets.find(path)?.url
    return url === undefined ? undefined : this.page(url)
  }

  /** Returns what readers of the pages do not get. */
  findings(): readonly Finding[] {
    return this.#snapshot.findings
  }

  /** Returns the files that pages may include, and that are no pages themselves. */
  partials(): readonly string[] {
    return this.#partials
  }

  /** Returns the errors of files whose current version cannot be served. The page of their previous version is kept, if there is one. */
  errors(): readonly FileError[] {
    const { errors } = this.#snapshot
    return this.#unreadable === undefined ? errors : [this.#unreadable, ...errors]
  }

  /**
   * Calls the listener after the first read, and after each change of the pages since.
   * @returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#sweepTimer)
    this.#parser.close()
    this.#listeners.clear()
    this.#completed()
  }

  /** Starts the first read; scans follow it. */
  start(): void {
    void this.#scan().then(() => {
      if (!this.#closed && !this.#isComplete) this.#complete()
      this.#scheduleScan(0)
    })
  }

  /** Schedules the next scan. @param tookMs duration of the last one. */
  #scheduleScan(tookMs: number): void {
    if (this.#closed) return
    const atLeast = Math.min(tookMs / SCAN_SHARE, MAX_BETWEEN_SCANS_MS)
    const every = Math.max(this.#options.scanEveryMs ?? SCAN_EVERY_MS, atLeast)
    this.#timer = setTimeout(() => {
      const began = performance.now()
      void this.#scan().then((read) => {
        this.#scheduleScan(read ? 0 : performance.now() - began)
      })
    }, every)
    this.#timer.unref()
  }

  /** Reads what has changed in the folder. Never throws. @returns whether anything was read. */
  async #scan(): Promise<boolean> {
    try {
      const listed = await this.#list()
      this.#unreadable = undefined
      if (await this.#isKnown(listed)) return false
      await this.#read(this.#entries.size === 0 ? listed : await this.#settled(listed))
      return true
    } catch (error) {
      const message = `the folder cannot be read: ${error instanceof Error ? error.message : String(error)}`
      if (this.#unreadable?.message !== message)
        this.#options.logger.error({ code: codeOf(error), folder: this.#folder }, message)
      this.#unreadable = { file: '.', line: 1, message }
      return false
    }
  }

  /** Returns the files of pages. */
  async #list(): Promise<readonly Listed[]> {
    const all = await listFiles(this.#folder)
    this.#orderFiles = all.filter(({ file }) => isOrderFile(file))
    const listed = all.filter(({ file }) => !isOrderFile(file))
    const partials = listed.map(({ file }) => file).filter(isPartial)
    if (partials.join('\n') !== this.#partials.join('\n')) {
      this.#partials = partials
      if (partials.length > 0) this.#options.logger.info({ partials }, 'partials are no pages')
    }
    return listed.filter(({ file }) => !isPartial(file))
  }

  async #isKnown(listed: readonly Listed[]): Promise<boolean> {
    if (listed.length !== this.#entries.size || stampsOf(this.#orderFiles) !== this.#orderings.stamps)
      return false
    for (const each of listed) if ((await this.#current(each)) === undefined) return false
    return true
  }

  /** Returns the draft and files of the last scan; undefined if the file or an included file has changed since. */
  async #current({ file, stamp }: Listed): Promise<Known | undefined> {
    const entry = this.#entries.get(file)
    if (entry?.stamp !== stamp) return undefined
    if (entry.included.length === 0) return entry
    const now = await includedStamp(this.#folder, entry.included)
    return now === entry.includedStamp ? entry : undefined
  }

  /** Lists the files again until two listings are equal: editors and checkouts write several files, and a file in several steps. */
  async #settled(listed: readonly Listed[]): Promise<readonly Listed[]> {
    const end = performance.now() + MAX_SETTLING_MS
    for (let before = listed; ;) {
      await sleep(SETTLE_MS)
      const now = await this.#list()
      if (performance.now() > end || stampsOf(now) === stampsOf(before)) return now
      before = now
    }
  }

  /** Reads the files that have changed. Their pages change in one step, except during the first read. */
  async #read(listed: readonly Listed[]): Promise<void> {
    const entries = new Map<string, Known>()
    const changed: Listed[] = []
    for (const each of listed) {
      const current = await this.#current(each)
      if (current === undefined) changed.push(each)
      else entries.set(each.file, current)
    }
    await this.#parseAll(await this.#lookUp(changed, entries), entries, listed.length)
    if (this.#closed) return
    this.#readOrderings()
    this.#publish(entries)
    this.#complete()
    this.#sweep()
  }

  /** Reads the files that order pages. One that is not valid orders nothing. */
  #readOrderings(): void {
    const stamps = stampsOf(this.#orderFiles)
    if (stamps === this.#orderings.stamps) return
    const all: Ordering[] = []
    const errors: FileError[] = []
    for (const listed of this.#orderFiles) {
      try {
        all.push(readOrdering(listed))
      } catch (error) {
        const { file } = listed
        const message = error instanceof Error ? error.message : String(error)
        errors.push({ file, line: 1, message })
        this.#options.logger.error({ code: codeOf(error), file }, message)
      }
    }
    this.#orderings = { stamps, all, errors }
  }

  /** Takes files from the cache. @returns the files that must be parsed. */
  async #lookUp(listed: readonly Listed[], entries: Map<string, Known>): Promise<Listed[]> {
    const unparsed: Listed[] = []
    for (const each of listed) {
      const entry = await this.#readFile(each, (_, key) => this.#parser.cached(key))
      if (entry === undefined) unparsed.push(each)
      else entries.set(each.file, entry)
      // Other work, because files are read at once.
      await turn()
    }
    return unparsed.sort(foldersFirst)
  }

  /** Parses files. Those that another process is parsing are taken from the cache when it is done. */
  async #parseAll(files: readonly Listed[], entries: Map<string, Known>, total: number): Promise<void> {
    const pace = new Pace()
    const cached = entries.size
    this.#progress = { done: cached, total, secondsLeft: undefined }
    let [publishedAt, loggedAt] = [0, performance.now()]
    for (let waiting = files; waiting.length > 0;) {
      const batch: Listed[] = []
      for (const each of waiting) {
        if (this.#closed) return
        if (!this.#isComplete && performance.now() - publishedAt > PUBLISH_EVERY_MS) {
          this.#publish(entries)
          publishedAt = performance.now()
        }
        const entry = await this.#readFile(each, (job, key) => this.#parser.parse(job, key))
        if (entry === undefined) batch.push(each)
        else entries.set(each.file, entry)
        const secondsLeft = pace.secondsLeft(entries.size - cached, total - cached)
        this.#progress = { done: entries.size, total, secondsLeft }
        if (performance.now() - loggedAt < LOG_EVERY_MS) continue
        loggedAt = performance.now()
        this.#options.logger.info(this.#progress, 'reading pages')
      }
      if (batch.length === waiting.length) await sleep(TAKEN_MS)
      waiting = batch
    }
  }

  /** Reads and parses a file. @param parse returns undefined if it has no result now. @returns undefined then. */
  async #readFile(
    listed: Listed,
    parse: (job: DocumentJob, key: string) => Promise<Parsed | undefined> | Parsed | undefined,
  ): Promise<Known | undefined> {
    const { file, stamp } = listed
    let includes = NO_INCLUDES
    try {
      const source = await readSource(this.#folder, listed)
      includes = { included: source.included.map(({ path }) => path), includedStamp: source.includedStamp }
      const job: DocumentJob = [source.text, file, source.included]
      const key = this.#parser.key(job)
      const parsed = await parse(job, key)
      if (parsed === undefined) return undefined
      if ('draft' in parsed) return { stamp, key, ...includes, draft: parsed.draft, error: undefined }
      return this.#failed(listed, includes, new ContentError(parsed.error.line, parsed.error.message), key)
    } catch (thrown) {
      return this.#closed ? undefined : this.#failed(listed, includes, thrown)
    }
  }

  #failed({ file, stamp }: Listed, includes: Includes, thrown: unknown, key?: string): Known {
    const lastGood = this.#entries.get(file)?.draft
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    const error = { file, line: thrown instanceof ContentError ? thrown.line : 1, message }
    this.#options.logger.error(
      { code: codeOf(thrown), file, line: error.line },
      `${lastGood === undefined ? 'not served' : 'served in its previous version'}: ${message}`,
    )
    return { stamp, key, ...includes, draft: lastGood, error }
  }

  /** Ends the first read. */
  #complete(): void {
    if (this.#isComplete) return
    this.#isComplete = true
    this.#findingLog.report(this.#snapshot.findings)
    this.#logLoaded()
    this.#completed()
    for (const listener of this.#listeners) listener()
  }

  /** Removes what is no longer needed from the cache: now, and again when what is too young now has the age for it. */
  #sweep(): void {
    const keys = [...this.#entries.values()].flatMap(({ key }) => key ?? [])
    void this.#cache?.sweep(new Set(keys))
    clearTimeout(this.#sweepTimer)
    this.#sweepTimer = setTimeout(() => void this.#cache?.sweep(new Set(keys)), SWEEP_AFTER_MS).unref()
  }

  #publish(files: ReadonlyMap<string, Known>): void {
    const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1))
    this.#entries = new Map(sorted)
    const drafted = sorted.flatMap(([file, { draft }]) => (draft === undefined ? [] : [{ file, draft }]))
    const { all: orderings, errors: orderErrors } = this.#orderings
    const { languages } = this.#options
    const placed = placePages(drafted, { orderings, ...(languages && { languages }) })
    const { pages, unlisted, targets, errors, findings, defaultLanguage } = placed
    for (const { file, message } of errors)
      if (!this.#snapshot.errors.some((before) => before.message === message))
        this.#options.logger.error({ code: 'HW_CONTENT_INVALID', file }, message)
    const version = hashOf([...pages, ...unlisted].map(({ hash }) => hash))
    const all = [...sorted.flatMap(([, { error }]) => error ?? []), ...errors, ...orderErrors]
    const changed = version !== this.#snapshot.version
    const { pages: before } = this.#snapshot
    this.#snapshot = {
      pages: changed ? pages : before,
      byUrl: new Map([...pages, ...unlisted].map((page) => [page.url, page])),
      targets,
      defaultLanguage,
      errors: all,
      findings,
      version,
    }
    // Until all pages are read, links may lead to pages that are not read yet.
    if (this.#isComplete) this.#findingLog.report(findings)
    if (!changed || !this.#isComplete) return
    this.#logLoaded()
    for (const listener of this.#listeners) listener()
  }

  #logLoaded(): void {
    const { pages, errors } = this.#snapshot
    this.#options.logger.info({ pages: pages.length, errors: errors.length }, 'content loaded')
  }
}

/** Sorts the page of a folder before the folder's other pages, whose breadcrumbs contain its title. */
const foldersFirst = ({ file: a }: Listed, { file: b }: Listed): number =>
  depthOf(a) - depthOf(b) || (a < b ? -1 : 1)

const depthOf = (file: string): number => file.replace(/(^|\/)index\.mdx?$/, '').split('/').length

const stampsOf = (listed: readonly Listed[]): string =>
  listed.map(({ file, stamp }) => `${file} ${stamp}`).join('\n')
