import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../errors.js'
import type { Logger } from '../logger.js'
import { BoundedThread } from '../worker-thread.js'
import type { DocumentJob } from './document-thread.js'
import { listFiles, readListed, type Listed } from './files.js'
import { ContentError, hashOf, type Draft, type Fault, type Page } from './page.js'
import { placePages } from './tree.js'

export interface ContentOptions {
  readonly logger: Logger
  /** Milliseconds between two looks at the folder. */
  readonly lookEveryMs?: number | undefined
}

const LOOK_EVERY_MS = 400
/** A look may take no more than this share of the time: a large folder on a slow disk is looked at less often. */
const LOOK_SHARE = 0.05
/** But never so seldom that a change is not in use within two seconds: a look is slow also because the process is busy. */
const MOST_BETWEEN_LOOKS_MS = 1_000
const SETTLE_MS = 40
const MOST_SETTLING_MS = 1_000

interface Known {
  readonly stamp: string
  readonly draft: Draft | undefined
  readonly fault: Fault | undefined
}

interface Snapshot {
  readonly pages: readonly Page[]
  readonly byUrl: ReadonlyMap<string, Page>
  readonly faults: readonly Fault[]
  readonly version: string
}

/**
 * Reads a folder of Markdown and MDX, and again what changes in it: looks instead of watching, for editors replace files, and
 * network file systems and mounted volumes tell nothing. A folder that is not there has no pages until it is; one that goes
 * away keeps its pages, as one file that is faulty keeps its own.
 */
export async function openContent(folder: string, options: ContentOptions): Promise<Content> {
  const content = new Content(folder, options)
  await content.look()
  content.again(0)
  return content
}

/** The pages of a folder, as they are now. */
export class Content {
  readonly #folder: string
  readonly #options: ContentOptions
  readonly #listeners = new Set<() => void>()
  readonly #thread = new BoundedThread<DocumentJob, Draft>('pipelines/content/document-thread', [
    ContentError,
  ])
  #known = new Map<string, Known>()
  #snapshot: Snapshot = { pages: [], byUrl: new Map(), faults: [], version: hashOf([]) }
  /** Why the folder as a whole cannot be read. */
  #unreadable: Fault | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(folder: string, options: ContentOptions) {
    this.#folder = folder
    this.#options = options
  }

  /** Another one whenever any page is another one; the same for the same pages, here and in another process. */
  get version(): string {
    return this.#snapshot.version
  }

  /** In the order of a table of contents. The same array until something changes, then another one: a reader never sees half a change. */
  pages(): readonly Page[] {
    return this.#snapshot.pages
  }

  page(url: string): Page | undefined {
    return this.#snapshot.byUrl.get(url)
  }

  /** What could not be read as it is now. Where the file made a page before, that page stays. */
  faults(): readonly Fault[] {
    const { faults } = this.#snapshot
    return this.#unreadable === undefined ? faults : [this.#unreadable, ...faults]
  }

  /** Calls back after each change of the pages. @returns what ends that. */
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

  /** @param tookMs what the last look took. */
  again(tookMs: number): void {
    if (this.#closed) return
    const rarely = Math.min(tookMs / LOOK_SHARE, MOST_BETWEEN_LOOKS_MS)
    const every = Math.max(this.#options.lookEveryMs ?? LOOK_EVERY_MS, rarely)
    this.#timer = setTimeout(() => {
      const began = performance.now()
      void this.look().then((read) => {
        this.again(read ? 0 : performance.now() - began)
      })
    }, every)
    this.#timer.unref()
  }

  /** @returns whether anything was read; never throws. */
  async look(): Promise<boolean> {
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

  /** Editors and checkouts write several files, and one in several steps: waits until two looks see the same. */
  async #settled(listed: readonly Listed[]): Promise<readonly Listed[]> {
    const end = performance.now() + MOST_SETTLING_MS
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
      return { stamp, draft, fault: undefined }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const fault = { file, line: error instanceof ContentError ? error.line : 1, message }
      this.#options.logger.error(
        { code: codeOf(error), file, line: fault.line },
        `${lastGood === undefined ? 'not served' : 'served in its previous version'}: ${message}`,
      )
      return { stamp, draft: lastGood, fault }
    }
  }

  #publish(): void {
    const known = [...this.#known]
    const drafted = known.flatMap(([file, { draft }]) => (draft === undefined ? [] : [{ file, draft }]))
    const { pages, faults } = placePages(drafted)
    for (const { file, message } of faults)
      if (!this.#snapshot.faults.some((before) => before.message === message))
        this.#options.logger.error({ code: 'HW_CONTENT_INVALID', file }, message)
    const version = hashOf(pages.map(({ hash }) => hash))
    const all = [...known.flatMap(([, { fault }]) => fault ?? []), ...faults]
    const changed = version !== this.#snapshot.version
    const { pages: before } = this.#snapshot
    this.#snapshot = {
      pages: changed ? pages : before,
      byUrl: new Map(pages.map((page) => [page.url, page])),
      faults: all,
      version,
    }
    if (!changed) return
    this.#options.logger.info({ pages: pages.length, faults: all.length }, 'content loaded')
    for (const listener of this.#listeners) listener()
  }
}

const stampsOf = (listed: readonly Listed[]): string =>
  listed.map(({ file, stamp }) => `${file} ${stamp}`).join('\n')
