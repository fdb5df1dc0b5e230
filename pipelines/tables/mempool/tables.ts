import { readFile } from 'node:fs/promises'
import type { Database } from '../clickhouse.js'
import { table } from '../rowbinary.js'

// The columns of the tables; `mempool.sql` describes them.

const FILE = new URL('./mempool.sql', import.meta.url)

/** The columns of a row of `dropped_txs` by which it is found. */
const PLACE = { left_at: 'ms', position: 'count', item: 'u32' } as const

/** The columns of `dropped_txs` without the transaction itself. */
export const DROPPED_COLUMNS = {
  ...PLACE,
  txid: 'hash',
  reason: 'u8',
  replaced_by: 'hash',
  fee: 'u64',
  vsize: 'u32',
  first_seen: 'u32',
  signalled: 'u8',
} as const

export const DROPPED_TXS = table('dropped_txs', { ...DROPPED_COLUMNS, raw: 'bytes' })

export const DROPPED_KEYS = table('dropped_keys', { txid_prefix: 'hash8', is_replacer: 'bool', ...PLACE })

export const FIRST_SEEN = table('first_seen', { txid_prefix: 'hash8', first_seen: 'u32' })

export const JOURNAL = table('journal', { id: 'u8', chain: 'text', position: 'i64', time: 'ms' })

/** Returns the name of the database with the history of the mempool, for that of the configured database. */
export const mempoolDatabaseOf = (name: string): string => `${name}_mempool`

/**
 * Creates the database with all tables of `mempool.sql` that it lacks.
 * @param isCluster whether the server belongs to a cluster. Every server of it, of all shards, then is a replica of each table.
 * @throws DatabaseUnavailable, QueryRefused.
 */
export async function createMempoolTables(db: Database, isCluster: boolean): Promise<void> {
  const server = db.sibling('default')
  try {
    for (const statement of await creations(db.name, isCluster)) await server.command(statement)
  } finally {
    await server.close()
  }
}

/** Returns the statements that create the database and its tables. */
export async function creations(database: string, isCluster: boolean): Promise<string[]> {
  const text = await readFile(FILE, 'utf8')
  const onCluster = isCluster ? " ON CLUSTER '{cluster}'" : ''
  const path = "'/clickhouse/{cluster}/all/{database}/{table}', '{shard}-{replica}'"
  const tables = text
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
    .map((statement) => {
      const named = statement.replace(
        /^CREATE TABLE (\w+)/,
        `CREATE TABLE IF NOT EXISTS ${database}.$1${onCluster}`,
      )
      return isCluster
        ? named.replace(/= ReplacingMergeTree(?:\((\w+)\))?/, (_, version?: string) => {
            const parameters = version === undefined ? path : `${path}, ${version}`
            return `= ReplicatedReplacingMergeTree(${parameters})`
          })
        : named
    })
  return [`CREATE DATABASE IF NOT EXISTS ${database}${onCluster}`, ...tables]
}

/** The last event of topic `node` that was applied to the tables. */
export interface JournalPosition {
  /** Name of the network. */
  readonly chain: string
  readonly position: number
  /** Time of the event in the log, in Unix milliseconds. */
  readonly time: number
}

/** Returns how far the tables have been written; undefined if they are empty. */
export async function journalPosition(db: Database): Promise<JournalPosition | undefined> {
  const [row] = await db.query<{ chain: string; position: string; ms: string }>(
    'SELECT chain, position, toUnixTimestamp64Milli(time) AS ms FROM journal ORDER BY written_at DESC LIMIT 1',
  )
  return row && { chain: row.chain, position: Number(row.position), time: Number(row.ms) }
}

/** The value of `dropped_txs.replaced_by` of a transaction that nothing replaced. */
export const NO_TXID = '00'.repeat(32)
/** Hex digits of the first 8 bytes of a txid. */
export const PREFIX_DIGITS = 16

/** Returns the beginning of a txid by which `dropped_keys` and `first_seen` have it, in hex. */
export const prefixOf = (txid: string): string => txid.slice(0, PREFIX_DIGITS)
