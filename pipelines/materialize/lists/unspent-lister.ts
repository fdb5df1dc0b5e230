import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Logger } from '../../logger.js'
import type { ChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import {
  buildList,
  busyScripts,
  changesAbove,
  dropOldLists,
  dropUnfinishedLists,
  newestList,
  SCRIPT_RANGES,
} from '../../tables/unspent.js'
import { mustBeNewest } from '../../tables/writers.js'
import { STEP_SETTINGS } from './ranking-builder.js'

/** Changes of a script's outputs above a list from which on a new one is built: what a reader lays over it. */
const LIST_TAIL = 1_000
/** Of a long list so many more: a change then costs this many rows of lists at most. */
const ROWS_PER_CHANGE = 8
/** Scripts whose changes are counted; those that change most are touched most. */
const COUNTED_SCRIPTS = 50_000
const MOST_SCRIPTS = 10_000
/** Rows that are looked through at once for scripts that change much. */
const SEARCHED_ROWS = 10_000_000
const CLEANING_MS = 60_000
const RETRY_MS = 60_000

export interface UnspentListerOptions {
  /** The number under which the chain is written. */
  readonly writer: () => bigint
  /** Called at each failure. */
  readonly onFailure: (error: unknown) => void
  readonly tail?: number | undefined
  readonly searchedRows?: number
  readonly retryMs?: number
  /** For tests: called when a list is built, before the next one. */
  readonly afterList?: () => void | Promise<void>
}

/**
 * Builds lists of unspent outputs beside the fold, never in its way: of scripts whose outputs change much, so that no page of
 * them reads what was spent long ago. A list is true of its block whatever is folded meanwhile. None is built while a chain is
 * filled.
 */
export class UnspentLister {
  readonly #db: Database
  readonly #options: Required<Omit<UnspentListerOptions, 'tail'>> & { readonly tail: number }
  /** Changes by script hash since its list was looked at. */
  readonly #changes = new LRUCache<string, number>({ max: COUNTED_SCRIPTS })
  readonly #due = new Set<string>()
  #view: ChainView | undefined
  /** Ranges of scripts that were searched: what was counted before this start is not known any more. */
  #searched = 0
  #mayRun = true
  #isFilling = false
  #isClosed = false
  #retryAt = Number.NEGATIVE_INFINITY
  #cleanAt = Number.NEGATIVE_INFINITY
  /** Whether a build may have been cut off. */
  #hasUnfinished = true
  #running: Promise<void> | undefined

  constructor(
    db: Database,
    private readonly logger: Logger,
    options: UnspentListerOptions,
  ) {
    this.#db = db.sibling(db.name, STEP_SETTINGS)
    const { tail = LIST_TAIL, searchedRows = SEARCHED_ROWS, retryMs = RETRY_MS } = options
    this.#options = { afterList: () => undefined, ...options, tail, searchedRows, retryMs }
  }

  /** Counts outputs of scripts that were created or spent. */
  count(changes: ReadonlyMap<string, number>): void {
    for (const [script, more] of changes) {
      const sum = (this.#changes.get(script) ?? 0) + more
      this.#changes.set(script, sum)
      if (sum >= this.#options.tail && this.#due.size < MOST_SCRIPTS) this.#due.add(script)
    }
  }

  /** Begins or goes on with what is due. Call when a head was shown, and now and then without one. @param isFilling the index is far behind the node. */
  consider(view: ChainView, isFilling: boolean): void {
    this.#view = view
    this.#isFilling = isFilling
    if (this.#running !== undefined || !this.#canGoOn() || view.head.tipHeight < 0) return
    const now = performance.now()
    const isDue = this.#searched < SCRIPT_RANGES || this.#due.size > 0 || now >= this.#cleanAt
    if (now < this.#retryAt || !isDue) return
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves when no build is under way. */
  async idle(): Promise<void> {
    await this.#running
  }

  /** Ends after the list that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
    await this.#db.close()
  }

  /** Ends after the list that is under way, and goes on when it is considered again. Call before rows are written that a list would take for final. */
  async pause(): Promise<void> {
    this.#mayRun = false
    try {
      await this.#running
    } finally {
      this.#mayRun = true
    }
  }

  #canGoOn(): boolean {
    return this.#mayRun && !this.#isClosed && !this.#isFilling
  }

  async #run(): Promise<void> {
    try {
      await this.#db.rely()
      await mustBeNewest(this.#db, this.#options.writer())
      await this.#buildDue()
      while (this.#searched < SCRIPT_RANGES && this.#canGoOn()) {
        await this.#rested(() => this.#search())
        await this.#buildDue()
      }
      if (this.#hasUnfinished && this.#canGoOn()) {
        await dropUnfinishedLists(this.#db)
        this.#hasUnfinished = false
      }
      if (performance.now() < this.#cleanAt || !this.#canGoOn()) return
      const isAll = await dropOldLists(this.#db)
      this.#cleanAt = isAll ? Number.POSITIVE_INFINITY : performance.now() + CLEANING_MS
    } catch (error) {
      this.logger.warn({ err: error }, 'lists of unspent outputs could not be built')
      this.#options.onFailure(error)
      this.#hasUnfinished = true
      this.#retryAt = performance.now() + this.#options.retryMs
    }
  }

  /** Scripts that have changed much, whenever that was, of as many rows as one look takes. */
  async #search(): Promise<void> {
    const { tail, searchedRows } = this.#options
    const range = { from: this.#searched, rows: searchedRows, tail, most: MOST_SCRIPTS }
    const { scripts, to } = await busyScripts(this.#db, range)
    for (const script of scripts) this.#due.add(script)
    this.#searched = to
  }

  /** One whose list cannot be built is due again when it has changed as much once more, and is not in the way of others. */
  async #buildDue(): Promise<void> {
    for (const script of this.#due) {
      if (!this.#canGoOn()) return
      this.#due.delete(script)
      this.#changes.delete(script)
      await this.#rested(() => this.#build(script))
    }
  }

  async #build(scriptHash: string): Promise<void> {
    const view = this.#view
    if (view === undefined) return
    const { writer, tail, afterList } = this.#options
    const of = { scriptHash, filter: view.sqlFilter('height', 'block_hash') }
    const { tipHeight: height, tipHash: hash } = view.head
    const base = await newestList(this.#db, of)
    if ((await changesAbove(this.#db, of, base)) < Math.max(tail, base.size / ROWS_PER_CHANGE)) return
    const { size } = await buildList(this.#db, of, base, { height, hash }, writer())
    this.logger.info({ height, hash, script: scriptHash, size }, 'unspent outputs listed')
    this.#cleanAt = Math.min(this.#cleanAt, performance.now() + CLEANING_MS)
    await afterList()
  }

  /** Rests as long as the work took. */
  async #rested(work: () => Promise<void>): Promise<void> {
    const began = performance.now()
    await work()
    await sleep(performance.now() - began)
  }
}
