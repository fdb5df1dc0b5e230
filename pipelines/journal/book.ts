import type { LeanTx } from '../mempool/lean-tx.js'
import type { NodeRecord } from '../mempool/mempool-events.js'

/**
 * Makes rows of the mempool's history. A row must depend on the log alone: after a restart, the journal applies the events since a
 * snapshot again.
 */
export interface Book {
  /** The approximate size of the rows that have not been written. */
  readonly bytes: number
  /**
   * Drops everything that it has in memory: the next event is a snapshot, or the first one of the log.
   * @param chain the name of the network.
   */
  reset(chain: string): void
  /**
   * Applies an event. Must not take long at once, because it holds up the materializer: longer work is interrupted.
   * @param isWritten true if its rows are in the tables already: it counts only for what later events need.
   */
  apply(event: NodeRecord<LeanTx>, isWritten: boolean): void | Promise<void>
  /** Writes its rows. After an error the journal resets all books. @throws DatabaseUnavailable, QueryRefused. */
  flush(): Promise<void>
}
