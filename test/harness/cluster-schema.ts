import type { Database } from '../../pipelines/tables/clickhouse.js'
import { ownSchema } from '../../pipelines/tables/schema-version.js'
import { replicatedTable } from '../../pipelines/tables/cluster/replicas.js'
import { LOCAL } from '../../pipelines/tables/cluster/shards.js'
import { type Engine, startEngine } from '../../services/engine/engine.js'
import { freePort } from '../../services/process/ports.js'

/** A table as the server describes it. */
export interface Made {
  readonly name: string
  readonly sql: string
}

/**
 * The keys that distribute the rows of tables over shards: everything of a transaction is on one shard, by the first 8 bytes of its
 * txid, and so is everything of a script, and of the blocks of a height. Tables that are not listed are small and define
 * what is visible: they are on the first shard.
 */
export const SHARDED_BY: Readonly<Record<string, string>> = {
  txs: 'substring(txid, 1, 8)',
  tx_locations: 'txid_prefix',
  replaced_witnesses: 'substring(txid, 1, 8)',
  spends: 'substring(prev_txid, 1, 8)',
  script_txs: 'script_hash',
  script_outputs: 'script_hash',
  unspent_outputs: 'script_hash',
  unspent_lists: 'script_hash',
  scripts: 'script_hash',
  address_order: 'script_prefix',
  script_balances: 'script_hash',
  ranked_balances: 'script_hash',
  ranking_changes: 'script_hash',
  ranking_order: 'script_hash',
  block_txs: 'height',
  op_returns: 'height',
}

/** Starts an engine that accepts replicated tables, as the only server of a cluster. The tables are read-only. */
export async function startReplica(dataDir: string): Promise<Engine> {
  const tcpPort = await freePort()
  const shard = { shard: { replica: { host: '127.0.0.1', port: tcpPort } } }
  return startEngine({
    dataDir,
    tcpPort,
    settings: {
      zookeeper: { implementation: 'testkeeper' },
      macros: { cluster: 'one', shard: '1', replica: '1' },
      remote_servers: { one: shard, one_state: shard },
    },
  })
}

/** Returns all tables of a database, schema_version first: on a cluster processes refuse a database that has only some. */
export async function tablesOf(db: Database): Promise<Made[]> {
  const rows = await db.query<Made>(
    `SELECT name, replaceOne(create_table_query, concat(database, '.', name), name) AS sql
     FROM system.tables WHERE database = currentDatabase() ORDER BY name != 'schema_version', name`,
  )
  const formatted = rows.map(async ({ name, sql }) => {
    const [row] = await db.query<{ sql: string }>('SELECT formatQuery({sql:String}) AS sql', { sql })
    return { name, sql: row?.sql ?? '' }
  })
  return Promise.all(formatted)
}

const REPLICATED_HEADER = `-- Headwater on a cluster of replicas: every server has everything. Generated from pipelines/tables/schema.sql; after a change:
--   npx vitest run test/deploy/cluster.test.ts -u
-- Apply it once, before any process of Headwater: clickhouse-client --multiquery < cluster.sql. The processes then find all
-- tables. {cluster}, {shard} and {replica} are macros of the servers; operators and packages set them.`

/** Returns the schema for one shard of replicas. */
export async function replicatedSql(tables: readonly Made[]): Promise<string> {
  const made = tables.map(({ sql }) => create(sql))
  return [REPLICATED_HEADER, DATABASE, ...made, await versionNoted(), ''].join('\n\n')
}

const SHARDED_HEADER = `-- Headwater on several shards, each with its replicas: see content/cluster.md. Generated from pipelines/tables/schema.sql like
-- cluster.sql, and applied like it. Large tables are distributed over all shards, those that define what is visible are on the
-- first shard, as the cluster {cluster}_state: the servers' remote_servers must contain it, with the replicas of that shard.`

/** Returns the schema for several shards: a table with the rows of the shard, and one of the original name over all of them. */
export async function shardedSql(tables: readonly Made[]): Promise<string> {
  const made = tables.flatMap(({ name, sql }) => {
    const by = SHARDED_BY[name]
    const [cluster, key] = by === undefined ? ['{cluster}_state', ''] : ['{cluster}', `, sipHash64(${by})`]
    const local = `${name}${LOCAL}`
    const distributed = `CREATE TABLE IF NOT EXISTS headwater.${name} ON CLUSTER '{cluster}' AS headwater.${local}
ENGINE = Distributed('${cluster}', 'headwater', '${local}'${key})`
    return [create(sql, LOCAL), `${distributed};`]
  })
  return [SHARDED_HEADER, DATABASE, ...made, await versionNoted(), ''].join('\n\n')
}

const DATABASE = "CREATE DATABASE IF NOT EXISTS headwater ON CLUSTER '{cluster}';"

function create(sql: string, suffix = ''): string {
  return `${replicatedTable(sql, { database: 'headwater', suffix })};`
}

async function versionNoted(): Promise<string> {
  const { version, checksum } = await ownSchema()
  return `INSERT INTO headwater.schema_version (version, checksum) VALUES (${String(version)}, '${checksum}');`
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
