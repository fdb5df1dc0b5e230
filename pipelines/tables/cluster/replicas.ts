import type { Database } from '../clickhouse.js'

/** Settings of the tables that replace EmbeddedRocksDB, which is not replicated: small blocks, because a point read opens one. */
const POINT_SETTINGS =
  'index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1'

/** Returns the engine of a table, empty if it does not exist. */
export async function engineOf(db: Database, table: string): Promise<string> {
  const sql = 'SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}'
  const [row] = await db.query<{ engine: string }>(sql, { table })
  return row?.engine ?? ''
}

/**
 * Returns the engine by which tables of a database are on a cluster, `Distributed` or a replicated one; empty on a single server. One
 * table suffices, because a process may start while the tables of a cluster are being created.
 */
export async function clusterEngineOf(db: Database): Promise<string> {
  const sql = `SELECT engine FROM system.tables WHERE database = currentDatabase()
    AND (engine = 'Distributed' OR engine LIKE 'Replicated%') ORDER BY engine LIMIT 1`
  return (await db.query<{ engine: string }>(sql))[0]?.engine ?? ''
}

/**
 * Converts the statement that creates a table on a single server into a statement that creates the table on a cluster of
 * replicas. The servers define the macros cluster, shard and replica.
 * @param options `suffix` of the table's name.
 */
export function replicatedTable(
  create: string,
  { database, suffix = '' }: { readonly database: string; readonly suffix?: string },
): string {
  const engine =
    "ReplicatedReplacingMergeTree('/clickhouse/{cluster}/{shard}/{database}/{table}', '{replica}')"
  return create
    .replace(
      /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/,
      `CREATE TABLE IF NOT EXISTS ${database}.$1${suffix} ON CLUSTER '{cluster}'`,
    )
    .replace(/^ENGINE = ReplacingMergeTree\b/m, `ENGINE = ${engine}`)
    .replace(
      /^ENGINE = EmbeddedRocksDB\s+PRIMARY KEY (\w+)$/m,
      `ENGINE = ${engine}\nORDER BY $1\nSETTINGS ${POINT_SETTINGS}`,
    )
}
