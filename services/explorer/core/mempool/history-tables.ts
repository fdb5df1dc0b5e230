import { type Database, TableMissing } from '../../../../pipelines/tables/clickhouse.js'
import { mempoolDatabaseOf } from '../../../../pipelines/tables/mempool/tables.js'
import type { AvailableDatabase, QueryRunner } from '../tables/availability.js'

/** The tables of the mempool's history. Their rows depend on the log alone, so that reads need no fence. */
export interface HistoryTables extends Pick<QueryRunner, 'query' | 'bytes'> {
  close(): Promise<void>
}

/**
 * Returns the tables of the mempool's history, which the materializer creates in a database of their own. As long as they do not exist,
 * they have no rows.
 * @param db the configured database, whatever database serves.
 */
export function historyTablesOf(db: Database, available: AvailableDatabase): HistoryTables {
  const own = db.sibling(mempoolDatabaseOf(db.name))
  const orNone =
    <T>(none: T) =>
    (error: unknown): T => {
      if (error instanceof TableMissing) return none
      throw error
    }
  const runner = available.on({
    query: <T>(...query: Parameters<Database['query']>) => own.query<T>(...query).catch(orNone<T[]>([])),
    bytes: (...query) => own.bytes(...query).catch(orNone(Buffer.alloc(0))),
  })
  return {
    query: (...query) => runner.query(...query),
    bytes: (...query) => runner.bytes(...query),
    close: () => own.close(),
  }
}
