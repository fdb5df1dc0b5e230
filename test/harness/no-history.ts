import { Gatherer } from '../../services/explorer/core/tables/gather.js'
import type { HistoryTables } from '../../services/explorer/core/mempool/history-tables.js'

const NOTHING = new Gatherer<never>({ load: () => Promise.resolve(new Map<string, never>()) })

/** The mempool's history of an explorer without a database. */
export const NO_HISTORY: HistoryTables = {
  drops: NOTHING,
  replaced: NOTHING,
  firstSeen: NOTHING,
  query: () => Promise.resolve([]),
  bytes: () => Promise.resolve(Buffer.alloc(0)),
  close: () => Promise.resolve(),
}
