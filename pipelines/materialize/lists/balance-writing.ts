import type { Database } from '../../tables/clickhouse.js'
import { balanceFloor, NO_BALANCES, setBalanceFloor } from '../../tables/lists/balance-floor.js'
import { MAX_ROWS_ABOVE } from '../../tables/lists/ranking.js'
import type { BlockWriter } from '../apply/block-writer.js'
import type { RankingBuilder } from './ranking-builder.js'

export interface BalanceWritingParts {
  readonly db: Database
  readonly writer: BlockWriter
  readonly rankings: RankingBuilder
  /** Returns the writer number of the chain. */
  readonly number: () => bigint
}

/**
 * Decides whether rows of balances are written. A long backfill writes none: the ranking after it is built from the histories of
 * all scripts.
 */
export class BalanceWriting {
  /** The number of rows written during the current backfill. */
  #rows = 0

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
   * @param top height of the highest block that is written or published.
   */
  async consider(rows: number, isFilling: boolean, top: number): Promise<void> {
    this.#rows = isFilling ? this.#rows + rows : 0
    const { writer } = this.parts
    if (writer.writesBalances && this.#rows > MAX_ROWS_ABOVE) await this.stop()
    if (!writer.writesBalances && !isFilling) await this.resume(top)
  }

  /** Stops before the next block. */
  async stop(): Promise<void> {
    await this.#setFloor(NO_BALANCES)
    this.parts.writer.writesBalances = false
  }

  /** Resumes with the next block. @param top height of the highest block that is written. */
  async resume(top: number): Promise<void> {
    await this.#setFloor(top)
    this.parts.writer.writesBalances = true
  }

  async #setFloor(above: number): Promise<void> {
    const { db, rankings, number } = this.parts
    await rankings.changeFloor(() => setBalanceFloor(db, above, number()))
  }
}
