import type { EventLog } from '../../log/port.js'
import type { ChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import { balanceFloor, NO_BALANCES, setBalanceFloor } from '../../tables/lists/balance-floor.js'
import { MAX_ROWS_ABOVE } from '../../tables/lists/ranking.js'
import type { BlockWriter } from '../apply/block-writer.js'
import { rewriteAbove } from './repair.js'
import { WorkingChain } from '../working-chain.js'
import type { RankingBuilder } from '../lists/ranking-builder.js'

export interface BalanceWritingParts {
  readonly db: Database
  readonly log: EventLog
  readonly writer: BlockWriter
  readonly rankings: RankingBuilder
  /** Returns the writer number of the chain. */
  readonly number: () => bigint
}

/**
 * Decides whether rows of balances are written. A long backfill writes none, except of the blocks that are not final at its end, so that
 * the ranking of the final block, which is built from the histories of all scripts, serves every branch.
 */
export class BalanceWriting {
  /** The number of rows written during the current backfill. */
  #rows = 0
  /** True if they were resumed before the end of the current backfill: once is enough, even if the node has more blocks by then. */
  #hasResumed = false

  constructor(private readonly parts: BalanceWritingParts) {}

  /** Continues as the last writer left it. Call it before blocks are written. */
  async start(): Promise<void> {
    const { db, writer } = this.parts
    writer.writesBalances = (await balanceFloor(db)) !== NO_BALANCES
    this.#rows = 0
  }

  /**
   * Stops or resumes. Call it while no block is being written.
   * @param rows the number of rows written since the last call.
   * @param view the state of the newest head; undefined if blocks are written that it does not contain, or if there is none.
   */
  async consider(rows: number, isFilling: boolean, view: ChainView | undefined): Promise<void> {
    this.#rows = isFilling ? this.#rows + rows : 0
    if (!isFilling) this.#hasResumed = false
    const { writer } = this.parts
    if (writer.writesBalances && this.#rows > MAX_ROWS_ABOVE) await this.stop()
    if (!writer.writesBalances && !isFilling && view !== undefined) await this.#resume(view)
  }

  /** Stops before the next block. */
  async stop(): Promise<void> {
    await this.#setFloor(NO_BALANCES)
    this.parts.writer.writesBalances = false
  }

  /**
   * Resumes before the first blocks that will not be final when the backfill ends, so that none is written again. Call it while no
   * block is being applied.
   * @param from the height of the last block that was applied.
   * @param next the height of the last block that will be applied at once.
   * @param final the height of the last block that will be final.
   */
  async resumeBefore(from: number, next: number, final: number): Promise<void> {
    const { writer } = this.parts
    if (writer.writesBalances || this.#hasResumed || from > final || next <= final) return
    this.#hasResumed = true
    await this.#setFloor(from)
    writer.writesBalances = true
    this.#rows = 0
  }

  /** Writes the blocks above the final height again, now with balances, as far as the log contains them. */
  async #resume(view: ChainView): Promise<void> {
    const { db, log, writer, number } = this.parts
    writer.writesBalances = true
    const rewriting = { db, log, writer, number, chain: new WorkingChain(view) }
    await this.#setFloor(await rewriteAbove(rewriting, view.head, view.head.finalHeight))
  }

  async #setFloor(above: number): Promise<void> {
    const { db, rankings, number } = this.parts
    await rankings.changeFloor(() => setBalanceFloor(db, above, number()))
  }
}
