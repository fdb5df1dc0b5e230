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
import { assertNewestWriter } from '../../tables/writers.js'
import { ListBuilder } from './list-builder.js'

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

/** Builds lists of unspent outputs of scripts whose outputs change much, so that no page of them reads what was spent long ago. */
export class UnspentLister extends ListBuilder {
  readonly #options: Required<Omit<UnspentListerOptions, 'tail'>> & { readonly tail: number }
  /** Changes by script hash since its list was looked at. */
  readonly #changes = new LRUCache<string, number>({ max: COUNTED_SCRIPTS })
  readonly #due = new Set<string>()
  /** Ranges of scripts that were searched: what was counted before this start is not known any more. */
  #searched = 0
  #cleanAt = Number.NEGATIVE_INFINITY
  /** Whether a build may have been cut off. */
  #hasUnfinished = true

  constructor(db: Database, logger: Logger, options: UnspentListerOptions) {
    super({ db, logger, name: 'lists of unspent outputs', onFailure: options.onFailure })
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
    this.goOn(view, isFilling)
  }

  protected override isDue(): boolean {
    return this.#searched < SCRIPT_RANGES || this.#due.size > 0 || performance.now() >= this.#cleanAt
  }

  protected override async work(): Promise<void> {
    await assertNewestWriter(this.db, this.#options.writer())
    await this.#buildDue()
    while (this.#searched < SCRIPT_RANGES && this.canGoOn) {
      await this.rested(() => this.#search())
      await this.#buildDue()
    }
    if (this.#hasUnfinished && this.canGoOn) {
      await dropUnfinishedLists(this.db)
      this.#hasUnfinished = false
    }
    if (performance.now() < this.#cleanAt || !this.canGoOn) return
    const isAll = await dropOldLists(this.db)
    this.#cleanAt = isAll ? Number.POSITIVE_INFINITY : performance.now() + CLEANING_MS
  }

  protected override recover(): number {
    this.#hasUnfinished = true
    return this.#options.retryMs
  }

  /** Scripts that have changed much, whenever that was, of as many rows as one look takes. */
  async #search(): Promise<void> {
    const { tail, searchedRows } = this.#options
    const range = { from: this.#searched, rows: searchedRows, tail, most: MOST_SCRIPTS }
    const { scripts, to } = await busyScripts(this.db, range)
    for (const script of scripts) this.#due.add(script)
    this.#searched = to
  }

  /** One whose list cannot be built is due again when it has changed as much once more, and is not in the way of others. */
  async #buildDue(): Promise<void> {
    for (const script of this.#due) {
      if (!this.canGoOn) return
      this.#due.delete(script)
      this.#changes.delete(script)
      await this.rested(() => this.#build(script))
    }
  }

  async #build(scriptHash: string): Promise<void> {
    const { view } = this
    const { writer, tail, afterList } = this.#options
    const of = { scriptHash, filter: view.sqlFilter('height', 'block_hash') }
    const { tipHeight: height, tipHash: hash } = view.head
    const base = await newestList(this.db, of)
    if ((await changesAbove(this.db, of, base)) < Math.max(tail, base.size / ROWS_PER_CHANGE)) return
    const { size } = await buildList(this.db, of, base, { height, hash }, writer())
    this.logger.info({ height, hash, script: scriptHash, size }, 'unspent outputs listed')
    this.#cleanAt = Math.min(this.#cleanAt, performance.now() + CLEANING_MS)
    await afterList()
  }
}
