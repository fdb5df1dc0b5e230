import type { Database } from '../../pipelines/tables/clickhouse.js'
import { readMigrations } from '../../pipelines/tables/migrate.js'
import { replicatedTable } from '../../pipelines/tables/replicas.js'
import { type Engine, startEngine } from '../../services/engine/engine.js'

/** A table as the server describes it. */
export interface Made {
  readonly name: string
  readonly sql: string
}

/**
 * The columns by which a table's rows are distributed over shards; tables that are not listed are complete on every
 * server.
 */
export const SHARDED_BY: Readonly<Record<string, string>> = {
  block_txs: 'block_tag',
  txs: 'txid',
  tx_locations: 'txid_prefix',
  replaced_witnesses: 'txid',
  spends: 'prev_txid',
  script_txs: 'script_hash',
  script_outputs: 'script_hash',
  unspent_outputs: 'script_hash',
  unspent_lists: 'script_hash',
  scripts: 'script_hash',
  script_balances: 'script_hash',
  ranked_balances: 'script_hash',
  op_returns: 'block_tag',
}

/** Starts an engine that accepts replicated tables, as the only server of a cluster. The tables are read-only. */
export function startReplica(dataDir: string): Promise<Engine> {
  return startEngine({
    dataDir,
    settings: {
      zookeeper: { implementation: 'testkeeper' },
      macros: { cluster: 'one', shard: '1', replica: '1' },
    },
  })
}

/** Returns all tables of a migrated database, including `migrations`. */
export async function tablesOf(db: Database): Promise<Made[]> {
  const rows = await db.query<Made>(
    `SELECT name, replaceOne(create_table_query, concat(database, '.', name), name) AS sql
     FROM system.tables WHERE database = currentDatabase() ORDER BY name`,
  )
  const formatted = rows.map(async ({ name, sql }) => {
    const [row] = await db.query<{ sql: string }>('SELECT formatQuery({sql:String}) AS sql', { sql })
    return { name, sql: row?.sql ?? '' }
  })
  return Promise.all(formatted)
}

const REPLICATED_HEADER = `-- Headwater on a cluster of replicas: every server has everything. Generated from pipelines/tables/migrations; after a new one:
--   npx vitest run --project fast test/deploy/cluster.test.ts -u
-- Apply it once, before any process of Headwater: clickhouse-client --multiquery < cluster.sql. The processes then find all
-- migrations done. {cluster}, {shard} and {replica} are macros of the servers; operators and packages set them.`

/** Returns the schema for one shard of replicas. */
export async function replicatedSql(tables: readonly Made[]): Promise<string> {
  const made = tables.map(({ sql }) => create(sql, '', '{shard}'))
  return [REPLICATED_HEADER, DATABASE, ...made, await migrationsDone(), ''].join('\n\n')
}

const SHARDED_HEADER = `-- Headwater on several shards: not supported by the code yet, see content/cluster.md for what is missing. Generated from
-- pipelines/tables/migrations like cluster.sql. Large tables are spread by the hash of what they are asked for, so that a
-- point read has one shard to ask; small ones, and those that say what is visible, are whole on every server.`

/**
 * Returns the schema for several shards: a table with the rows of the shard, and a distributed table with the
 * original name.
 */
export async function shardedSql(tables: readonly Made[]): Promise<string> {
  const made = tables.flatMap(({ name, sql }) => {
    const key = SHARDED_BY[name]
    if (key === undefined) return [create(sql, '', 'all')]
    const distributed = `CREATE TABLE IF NOT EXISTS headwater.${name} ON CLUSTER '{cluster}' AS headwater.${name}_shard
ENGINE = Distributed('{cluster}', 'headwater', '${name}_shard', sipHash64(${key}))`
    return [create(sql, '_shard', '{shard}'), `${distributed};`]
  })
  return [SHARDED_HEADER, DATABASE, ...made, await migrationsDone(), ''].join('\n\n')
}

const DATABASE = "CREATE DATABASE IF NOT EXISTS headwater ON CLUSTER '{cluster}';"

function create(sql: string, suffix: string, shard: string): string {
  const replica = shard === 'all' ? '{shard}-{replica}' : '{replica}'
  return `${replicatedTable(sql, { database: 'headwater', suffix, shard, replica })};`
}

async function migrationsDone(): Promise<string> {
  const done = (await readMigrations()).map(
    ({ id, name, checksum }) => `(${String(id)}, '${name}', '${checksum}')`,
  )
  return `INSERT INTO headwater.migrations (id, name, checksum) VALUES\n    ${done.join(',\n    ')};`
}

/** Returns the statements of a file without comments. */
export function statementsOf(sql: string): string[] {
  return sql
    .replace(/^--.*$/gm, '')
    .split(/;$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** Returns the same tables for a server outside a cluster, which can be tested without a Keeper. */
export function onOneServer(statement: string): string {
  return statement
    .replace(" ON CLUSTER '{cluster}'", '')
    .replace(/ReplicatedReplacingMergeTree\([^)]*\)/, 'ReplacingMergeTree')
}
