import type { ChainView } from './chain-view.js'

/** The columns that name the block of a row. Point tables have none: their rows are the same for every block. */
const BLOCK_COLUMNS = {
  blocks: ['height', 'hash'],
  block_txs: ['height', 'block_hash'],
  tx_places: ['height', 'block_hash'],
  spends: ['height', 'block_hash'],
  script_txs: ['height', 'block_hash'],
  script_outputs: ['height', 'block_hash'],
  script_spends: ['height', 'block_hash'],
  script_balances: ['height', 'block_hash'],
  op_returns: ['height', 'block_hash'],
} as const

export type BlockTable = keyof typeof BLOCK_COLUMNS

export const BLOCK_TABLES = Object.keys(BLOCK_COLUMNS) as readonly BlockTable[]

/** Point tables: the key of each, and the table and column that contain the keys of its visible rows. */
export const POINT_TABLES = {
  block_heights: ['hash', 'blocks', 'hash'],
  tx_bodies: ['txid', 'block_txs', 'txid'],
  scripts: ['script_hash', 'script_txs', 'script_hash'],
  tx_witnesses: ['wtxid', 'block_txs', 'wtxid'],
} as const

export type PointTable = keyof typeof POINT_TABLES

export const VISIBLE_TABLES = [...BLOCK_TABLES, ...(Object.keys(POINT_TABLES) as PointTable[])] as const

/**
 * Returns SQL for all rows of a table that are visible in a view, each once.
 * @param database qualifies the table, so that one query can compare two databases.
 */
export function visibleRowsQuery(table: BlockTable | PointTable, view: ChainView, database: string): string {
  if (table in BLOCK_COLUMNS) {
    const [height, hash] = BLOCK_COLUMNS[table as BlockTable]
    return `SELECT DISTINCT * FROM ${database}.${table} WHERE ${view.sqlFilter(height, hash)}`
  }
  const [key, source, column] = POINT_TABLES[table as PointTable]
  const [height, hash] = BLOCK_COLUMNS[source]
  const keys = `SELECT ${column} FROM ${database}.${source} WHERE ${view.sqlFilter(height, hash)}`
  return `SELECT DISTINCT * FROM ${database}.${table} WHERE ${key} IN (${keys})`
}
