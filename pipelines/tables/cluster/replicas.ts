import type { Database } from '../clickhouse.js'

/** Settings of the tables that replace EmbeddedRocksDB, which is not replicated: small blocks, because a point read opens one. */
const POINT_SETTINGS =
  'index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1'

/** Returns the engine of a table, empty if it does not exist. All tables of a database are replicated, or none. */
export async function engineOf(db: Database, table: string): Promise<string> {
  const sql = 'SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}'
  const [row] = await db.query<{ engine: string }>(sql, { table })
  return row?.engine ?? ''
}

export const isReplicatedEngine = (engine: string): boolean => engine.startsWith('Replicated')

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
