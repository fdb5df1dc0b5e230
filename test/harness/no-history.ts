import type { HistoryTables } from '../../services/explorer/core/mempool/history-tables.js'

/** The mempool's history of an explorer without a database. */
export const NO_HISTORY: HistoryTables = {
  query: () => Promise.resolve([]),
  bytes: () => Promise.resolve(Buffer.alloc(0)),
  close: () => Promise.resolve(),
}
