import type { ChainView } from './chain-view.js'

/**
 * The tables whose rows name their block by height and tag. `replaced_witnesses` is not in this list: which rows it has depends on
 * the history of the index, and not on the chain alone.
 */
export const BLOCK_TABLES = [
  'blocks',
  'block_txs',
  'tx_locations',
  'spends',
  'script_txs',
  'script_outputs',
  'script_balances',
  'op_returns',
] as const

export type BlockTable = (typeof BLOCK_TABLES)[number]

/** Tables whose rows belong to no block: the key of each, and the table and column that contain the keys of its visible rows. */
const KEYED_TABLES = {
  block_heights: ['hash', 'blocks', 'hash'],
  txs: ['txid', 'block_txs', 'txid'],
  scripts: ['script_hash', 'script_txs', 'script_hash'],
  address_order: ['script_prefix', 'script_txs', 'toFixedString(substring(script_hash, 1, 5), 5)'],
} as const

export type KeyedTable = keyof typeof KEYED_TABLES

export const VISIBLE_TABLES = [...BLOCK_TABLES, ...(Object.keys(KEYED_TABLES) as KeyedTable[])] as const

/**
 * Returns SQL for all rows of a table that are visible in a view, each once.
 * @param database qualifies the table, so that one query can compare two databases.
 */
export function visibleRowsQuery(table: BlockTable | KeyedTable, view: ChainView, database: string): string {
  const visible = view.tagFilter()
  if (!(table in KEYED_TABLES)) return `SELECT DISTINCT * FROM ${database}.${table} WHERE ${visible}`
  const [key, source, column] = KEYED_TABLES[table as KeyedTable]
  const keys = `SELECT ${column} FROM ${database}.${source} WHERE ${visible}`
  const rows = `SELECT * FROM ${database}.${table} WHERE ${key} IN (${keys})`
  return table === 'txs' ? transactionsQuery(rows, visible, database) : `SELECT DISTINCT * FROM (${rows})`
}

/** The columns of `txs` that belong to a block. */
const OF_BLOCK = 'height, block_tag, tx_index, is_dilithium'

/**
 * Returns SQL for transactions as readers see them: the last written row may be of a block that is not on the chain. Of several
 * blocks of the chain (BIP 30), the highest counts.
 * @param rows SQL for rows of `txs`. @param visible condition for the rows of the chain.
 */
function transactionsQuery(rows: string, visible: string, database: string): string {
  return `SELECT DISTINCT txid, body, prevouts, if(is_own, of_own, of_chain) AS of_block,
      if(is_own OR empty(kept), witness, kept) AS shown_witness
    FROM (SELECT txid, body, prevouts, witness, ${visible} AS is_own, (${OF_BLOCK}) AS of_own FROM (${rows})) AS written
    LEFT JOIN (SELECT txid, argMax((${OF_BLOCK}), height) AS of_chain FROM ${database}.block_txs WHERE ${visible} GROUP BY txid) AS located
      USING (txid)
    LEFT JOIN (SELECT txid, any(witness) AS kept FROM ${database}.replaced_witnesses WHERE ${visible} GROUP BY txid) AS copied
      USING (txid)`
}
