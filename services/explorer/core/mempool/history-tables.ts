import { type Database, TableMissing } from '../../../../pipelines/tables/clickhouse.js'
import { KEYS8 } from '../../../../pipelines/tables/keys.js'
import { DROPPED_KEYS, FIRST_SEEN, mempoolDatabaseOf } from '../../../../pipelines/tables/mempool/tables.js'
import { Selection } from '../../../../pipelines/tables/selection.js'
import type { AvailableDatabase, QueryRunner } from '../tables/availability.js'
import { Gatherer } from '../tables/gather.js'
import type { DropPlace } from './recent-drops.js'

/**
 * The tables of the mempool's history. Their rows depend on the log alone, so that reads need no fence. Concurrent lookups by key share
 * queries.
 */
export interface HistoryTables extends Pick<QueryRunner, 'query' | 'bytes'> {
  /** The places of transactions that left without a block, by the first 8 bytes of their txids. Places may be there twice. */
  readonly drops: Places
  /** The same, by the first 8 bytes of the txids of those that replaced them. */
  readonly replaced: Places
  /** The times at which confirmed transactions were first seen, in Unix seconds, by the first 8 bytes of their txids. */
  readonly firstSeen: Pick<Gatherer<number>, 'until'>
  close(): Promise<void>
}

type Places = Pick<Gatherer<readonly DropPlace[]>, 'until'>

const { txid_prefix, left_at, position, item } = DROPPED_KEYS.columns
const KEY = new Selection({ txid_prefix, left_at, position, item })
const SEEN = new Selection(FIRST_SEEN.columns)

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
  const placesBy = (isReplacer: 0 | 1) =>
    new Gatherer<readonly DropPlace[]>({
      async load(keys) {
        const from = `FROM dropped_keys WHERE txid_prefix IN ${KEYS8} AND is_replacer = ${String(isReplacer)}`
        const rows = await KEY.bytesByKeys(runner, from, keys)
        const places = new Map<string, DropPlace[]>()
        for (const row of rows) places.set(row.txidPrefix, [...(places.get(row.txidPrefix) ?? []), row])
        return places
      },
    })
  const firstSeen = new Gatherer<number>({
    async load(keys) {
      const from = `FROM first_seen WHERE txid_prefix IN ${KEYS8} ORDER BY first_seen DESC`
      const rows = await SEEN.bytesByKeys(runner, from, keys)
      return new Map(rows.map((row) => [row.txidPrefix, row.firstSeen]))
    },
  })
  return {
    drops: placesBy(0),
    replaced: placesBy(1),
    firstSeen,
    query: (...query) => runner.query(...query),
    bytes: (...query) => runner.bytes(...query),
    close: () => own.close(),
  }
}
