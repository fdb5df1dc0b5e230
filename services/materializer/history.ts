import { DroppedBook } from '../../pipelines/journal/dropped-book.js'
import { HistoryBook } from '../../pipelines/journal/history-book.js'
import { MempoolJournal } from '../../pipelines/journal/journal.js'
import type { EventLog } from '../../pipelines/log/port.js'
import type { Logger } from '../../pipelines/logger.js'
import { chainOfLog } from '../../pipelines/materialize/one-chain.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { clusterEngineOf } from '../../pipelines/tables/cluster/replicas.js'
import { mempoolDatabaseOf } from '../../pipelines/tables/mempool/tables.js'
import { dropOldHistory, type Retention } from '../../pipelines/tables/mempool/retention.js'
import { servingDatabase } from '../../pipelines/tables/serving.js'

export interface HistoryOptions {
  /** The configured database, whatever database serves. */
  readonly configured: Database
  readonly log: EventLog
  readonly logger: Logger
  readonly retention: Retention
  readonly onFailure: (error: unknown) => void
  /** The time for which rows are gathered, in milliseconds. Not set: as the journal has it. */
  readonly flushMs?: number
}

/** Writes the history of the mempool until the signal aborts. Never rejects. */
export async function writeMempoolHistory(
  { configured, log, logger, retention, onFailure, flushMs }: HistoryOptions,
  signal: AbortSignal,
): Promise<void> {
  const db = configured.sibling(mempoolDatabaseOf(configured.name))
  const isCluster = async (): Promise<boolean> => {
    const serving = configured.sibling(await servingDatabase(configured))
    return (await clusterEngineOf(serving).finally(() => serving.close())) !== ''
  }
  const journal = new MempoolJournal({
    db,
    log,
    logger,
    isCluster,
    chain: async () => (await chainOfLog(log))?.name,
    books: [new DroppedBook(db), new HistoryBook(db, log)],
    retain: () => dropOldHistory(db, retention, Date.now()),
    ...(flushMs === undefined ? {} : { flushMs }),
    observer: { failed: onFailure },
  })
  await journal.run(signal)
  await db.close()
}
