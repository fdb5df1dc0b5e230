import { type Database, TableMissing } from './clickhouse.js'
import { onEachServer } from './cluster/shards.js'

const POSTPONED = 'min_parts_to_merge_at_once'

/** The minimum number of parts per merge while merges are postponed: each row is then merged once, not once per doubling. */
const PARTS_MERGED = 32

/**
 * Has the tables of a database merge only many parts at a time: a database that is being filled takes less processor time, and
 * reads of it more. @throws DatabaseUnavailable, QueryRefused.
 */
export function postponeMerges(db: Database): Promise<void> {
  return alterMerges(db, `MODIFY SETTING ${POSTPONED} = ${String(PARTS_MERGED)}`, 'NOT LIKE')
}

/** Undoes `postponeMerges`; does nothing if merges are not postponed. @throws DatabaseUnavailable, QueryRefused. */
export function resumeMerges(db: Database): Promise<void> {
  return alterMerges(db, `RESET SETTING ${POSTPONED}`, 'LIKE')
}

async function alterMerges(db: Database, change: string, where: 'LIKE' | 'NOT LIKE'): Promise<void> {
  const sql = `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
    AND engine_full ${where} '%${POSTPONED}%'`
  await onEachServer(db, async (server) => {
    const tables = await server.query<{ name: string }>(sql).catch((error: unknown) => {
      // A server that does not have the database yet has nothing to merge.
      if (error instanceof TableMissing) return []
      throw error
    })
    for (const { name } of tables) await server.command(`ALTER TABLE ${name} ${change}`)
  })
}
