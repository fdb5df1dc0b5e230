import { LRUCache } from 'lru-cache'
import type { Logger } from '../logger.js'
import type { ChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { buildList, changesAbove, dropOldLists, newestList } from '../tables/unspent.js'

/** Changes of a script's outputs above a list from which on a new one is built: what a reader lays over it. */
export const LIST_TAIL = 1_000
/** Of a long list so many more: a change then costs this many rows of lists at most. */
const ROWS_PER_CHANGE = 8
/** Scripts whose changes are counted; those that change most are touched most. */
const COUNTED_SCRIPTS = 50_000
const MOST_SCRIPTS = 10_000
const DROP_EVERY_MS = 60_000

/**
 * Builds lists of unspent outputs beside the fold, of scripts whose outputs change much, so that no page of them reads what
 * was spent long ago. A list is true of its block whatever is folded meanwhile. None is built while a chain is filled.
 */
export class UnspentLister {
  /** Changes by script hash since its list was looked at. */
  readonly #changes = new LRUCache<string, number>({ max: COUNTED_SCRIPTS })
  readonly #due = new Set<string>()
  #building: Promise<void> | undefined
  #isStarted = false
  #droppedAt = 0

  constructor(
    private readonly db: Database,
    private readonly logger: Logger,
    private readonly tail: number,
  ) {}

  /** Counts outputs of scripts that were created or spent. */
  count(changes: ReadonlyMap<string, number>): void {
    for (const [script, more] of changes) {
      const sum = (this.#changes.get(script) ?? 0) + more
      this.#changes.set(script, sum)
      if (sum >= this.tail && this.#due.size < MOST_SCRIPTS) this.#due.add(script)
    }
  }

  /** Begins to build where it is time to. Call when a head was shown. @param isFilling many blocks came with it. */
  consider(view: ChainView, isFilling: boolean): void {
    if (isFilling || this.#building !== undefined || view.head.tipHeight < 0) return
    if (this.#isStarted && this.#due.size === 0) return
    this.#building = this.#build(view)
      .catch((error: unknown) => {
        this.logger.warn({ err: error }, 'lists of unspent outputs could not be built')
      })
      .finally(() => {
        this.#building = undefined
      })
  }

  /** Resolves when no build is under way. */
  async idle(): Promise<void> {
    await this.#building
  }

  async #build(view: ChainView): Promise<void> {
    if (!this.#isStarted) for (const script of await this.#busyScripts()) this.#due.add(script)
    this.#isStarted = true
    const filter = view.sqlFilter('height', 'block_hash')
    const { tipHeight: height, tipHash: hash } = view.head
    for (const scriptHash of this.#due) {
      this.#due.delete(scriptHash)
      this.#changes.delete(scriptHash)
      const of = { scriptHash, filter }
      const base = await newestList(this.db, of)
      if ((await changesAbove(this.db, of, base)) < Math.max(this.tail, base.size / ROWS_PER_CHANGE)) continue
      const { size } = await buildList(this.db, of, base, { height, hash })
      this.logger.info({ height, hash, script: scriptHash, size }, 'unspent outputs listed')
    }
    if (performance.now() - this.#droppedAt < DROP_EVERY_MS) return
    this.#droppedAt = performance.now()
    await dropOldLists(this.db)
  }

  /** Scripts that have spent much, whenever that was: what was counted before this start is not known any more. */
  async #busyScripts(): Promise<string[]> {
    const sql = `SELECT lower(hex(script_hash)) AS script FROM script_spends GROUP BY script_hash
      HAVING count() >= ${String(this.tail)} LIMIT ${String(MOST_SCRIPTS)} SETTINGS optimize_aggregation_in_order = 1`
    return (await this.db.query<{ script: string }>(sql)).map(({ script }) => script)
  }
}
