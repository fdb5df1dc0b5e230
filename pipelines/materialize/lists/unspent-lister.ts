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
} from '../../tables/lists/unspent.js'
import { assertNewestWriter } from '../../tables/writers.js'
import { ListBuilder } from './list-builder.js'

/** The number of changes of a script's outputs since a list from which on a new one is built: readers apply them on top of it. */
const LIST_TAIL = 1_000
/** The maximum number of rows of a new list per change: a longer list is built after more changes. */
const ROWS_PER_CHANGE = 8
/** The number of scripts whose changes are counted. The script that was changed longest ago is dropped first. */
const COUNTED_SCRIPTS = 50_000
const MAX_SCRIPTS = 10_000
/** The number of rows that one step searches for scripts with many changes. */
const SEARCHED_ROWS = 10_000_000
const CLEANING_MS = 60_000
const RETRY_MS = 60_000

export interface UnspentListerOptions {
  /** Returns the writer number of the chain. */
  readonly writer: () => bigint
  /** Called at each failure. */
  readonly onFailure: (error: unknown) => void
  readonly tail?: number | undefined
  readonly searchedRows?: number
  readonly retryMs?: number
  /** Called after each list; for tests. */
  readonly afterList?: () => void | Promise<void>
}

/**
 * Builds lists of unspent outputs of scripts with many changes, so that their pages do not read outputs that were spent long
 * ago.
 */
export class UnspentLister extends ListBuilder {
  readonly #options: Required<Omit<UnspentListerOptions, 'tail'>> & { readonly tail: number }
  /** The number of changes, by script hash, since the script's list was considered. */
  readonly #changes = new LRUCache<string, number>({ max: COUNTED_SCRIPTS })
  readonly #due = new Set<string>()
  /** The number of ranges of scripts searched since the start, because earlier counts are lost. */
  #searched = 0
  #cleanAt = Number.NEGATIVE_INFINITY
  /** True if a build may have been interrupted. */
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
      if (sum >= this.#options.tail && this.#due.size < MAX_SCRIPTS) this.#due.add(script)
    }
  }

  /**
   * Starts or continues the work that is due. Call it after each head, and regularly without one.
   * @param isFilling whether the index is far behind the node.
   */
  consider(view: ChainView, isFilling: boolean): void {
    this.proceed(view, isFilling)
  }

  protected override isDue(): boolean {
    return this.#searched < SCRIPT_RANGES || this.#due.size > 0 || performance.now() >= this.#cleanAt
  }

  protected override async work(): Promise<void> {
    await assertNewestWriter(this.db, this.#options.writer())
    await this.#buildDue()
    while (this.#searched < SCRIPT_RANGES && this.canProceed) {
      await this.rested(() => this.#search())
      await this.#buildDue()
    }
    if (this.#hasUnfinished && this.canProceed) {
      await dropUnfinishedLists(this.db)
      this.#hasUnfinished = false
    }
    if (performance.now() < this.#cleanAt || !this.canProceed) return
    const isAll = await dropOldLists(this.db)
    this.#cleanAt = isAll ? Number.POSITIVE_INFINITY : performance.now() + CLEANING_MS
  }

  protected override recover(): number {
    this.#hasUnfinished = true
    return this.#options.retryMs
  }

  /** Searches the next range of scripts for scripts with many changes, however old. */
  async #search(): Promise<void> {
    const { tail, searchedRows } = this.#options
    const range = { from: this.#searched, rows: searchedRows, tail, most: MAX_SCRIPTS }
    const { scripts, to } = await busyScripts(this.db, range)
    for (const script of scripts) this.#due.add(script)
    this.#searched = to
  }

  /**
   * Builds the lists that are due. If one fails, its script is due again after as many changes, so that it does not block
   * others.
   */
  async #buildDue(): Promise<void> {
    for (const script of this.#due) {
      if (!this.canProceed) return
      this.#due.delete(script)
      this.#changes.delete(script)
      await this.rested(() => this.#build(script))
    }
  }

  async #build(scriptHash: string): Promise<void> {
    const { view } = this
    const { writer, tail, afterList } = this.#options
    const of = { scriptHash, filter: view.tagFilter() }
    const { tipHeight: height, tipHash: hash } = view.head
    const base = await newestList(this.db, of)
    if ((await changesAbove(this.db, of, base)) < Math.max(tail, base.size / ROWS_PER_CHANGE)) return
    const { size } = await buildList(this.db, of, base, { height, hash }, writer())
    this.logger.info({ height, hash, script: scriptHash, size }, 'unspent outputs listed')
    this.#cleanAt = Math.min(this.#cleanAt, performance.now() + CLEANING_MS)
    await afterList()
  }
}
