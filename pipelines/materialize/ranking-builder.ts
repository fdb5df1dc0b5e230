import type { Logger } from '../logger.js'
import type { ChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { buildRanking, dropOldRankings, newestRanking, rowsAbove } from '../tables/ranking.js'

/** Rows of balances above a ranking from which on a new one is built: what a reader of the rich list lays over it. */
export const RANKING_TAIL = 25_000

/**
 * Builds rankings beside the fold, never in its way: a ranking is true of its block whatever is folded meanwhile. While a
 * chain is filled, the next one waits until as much was written as the last one holds, so that all of them together cost no
 * more than twice the last.
 */
export class RankingBuilder {
  /** Rows above the newest ranking; unknown at first. */
  #rows: number | undefined
  #size = 0
  #building: Promise<void> | undefined

  constructor(
    private readonly db: Database,
    private readonly logger: Logger,
    private readonly tail: number,
  ) {}

  /** Begins a build where it is time for one. Call when a head was shown. @param isFilling many blocks came with it. */
  consider(view: ChainView, written: number, isFilling: boolean): void {
    if (this.#rows !== undefined) this.#rows += written
    if (this.#building !== undefined || view.head.tipHeight < 0) return
    if (this.#rows !== undefined && this.#rows < (isFilling ? Math.max(this.tail, this.#size) : this.tail))
      return
    this.#building = this.#build(view)
      .catch((error: unknown) => {
        this.#rows = undefined
        this.logger.warn({ err: error }, 'the ranking could not be built')
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
    const filter = view.sqlFilter('height', 'block_hash')
    const newest = await newestRanking(this.db, filter)
    const rows = await rowsAbove(this.db, newest, filter)
    this.#rows = rows
    this.#size = newest.size
    if (rows < this.tail) return
    this.#rows = 0
    const { tipHeight: height, tipHash: hash } = view.head
    const { size } = await buildRanking(this.db, filter, { height, hash })
    this.#size = size
    this.logger.info({ height, hash, size }, 'ranking built')
    await dropOldRankings(this.db)
  }
}
