import type { Database } from './clickhouse.js'

/** Settings of the tables that replace EmbeddedRocksDB, which is not replicated: small blocks, because a point read opens one. */
const POINT_SETTINGS =
  'index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 16384, fsync_after_insert = 1'

/** Returns whether a table is replicated; then all tables of its database must be. */
export async function hasReplicas(db: Database, table: string): Promise<boolean> {
  const sql = 'SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}'
  const [row] = await db.query<{ engine: string }>(sql, { table })
  return row?.engine.startsWith('Replicated') === true
}

/**
 * Converts a statement of a migration into one that applies to all replicas: it creates a table on each of them, and does not
 * return before a column exists on each.
 */
export function onAllReplicas(statement: string, database: string): string {
  if (statement.startsWith('CREATE TABLE')) return replicatedTable(statement, { database })
  return statement.startsWith('ALTER TABLE') ? `${statement} SETTINGS alter_sync = 2` : statement
}

/**
 * Converts the statement that creates a table on a single server into one that creates it on a cluster of replicas. The servers
 * define the macros cluster, shard and replica.
 * @param options `suffix` of the table's name; `shard` and `replica`: its path and its own name in Keeper.
 */
export function replicatedTable(
  create: string,
  options: {
    readonly database: string
    readonly suffix?: string
    readonly shard?: string
    readonly replica?: string
  },
): string {
  const { database, suffix = '', shard = '{shard}', replica = '{replica}' } = options
  const engine = `ReplicatedReplacingMergeTree('/clickhouse/{cluster}/${shard}/{database}/{table}', '${replica}')`
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
