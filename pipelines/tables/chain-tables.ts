import type { Columns, Row, Table } from './rowbinary.js'

/** Declares a table. */
export function table<const C extends Columns>(name: string, columns: C): Table<C> {
  return { name, columns }
}

// The columns of the tables; the files in `migrations/` describe them. Those of `heads` are in `head.ts`.

export const WRITERS = table('writers', {
  writer: 'u64',
  position: 'i64',
  claimed_at: 'ms',
  successor: 'text',
  replaces: 'text',
})

export const BLOCKS = table('blocks', {
  height: 'u32',
  hash: 'hash',
  prev_hash: 'hash',
  merkle_root: 'hash',
  time: 'u32',
  median_time: 'u32',
  nonce: 'u32',
  bits: 'u32',
  version: 'i32',
  size: 'u32',
  stripped_size: 'u32',
  weight: 'u32',
  tx_count: 'u32',
  input_count: 'u32',
  output_count: 'u32',
  total_fees: 'u64',
  total_output: 'u64',
  subsidy: 'u64',
  miner_script: 'bytes',
  coinbase_script: 'bytes',
  chainwork: 'hash',
  dilithium_tx_count: 'u32',
  sum_txs: 'sum',
  sum_dilithium_txs: 'sum',
  supply: 'sum',
  utxo_count: 'sum',
  addresses: 'sum',
  funded_addresses: 'sum',
  dilithium_addresses: 'sum',
  dilithium_funded_addresses: 'sum',
  work: 'u256',
  difficulty: 'f64',
  active_addresses: 'u32',
  new_addresses: 'u32',
  sum_op_returns: 'sum',
})

export const BLOCK_HEIGHTS = table('block_heights', { hash: 'hash', height: 'u32' })

export const TX_LOCATIONS = table('tx_places', {
  height: 'u32',
  block_hash: 'hash',
  tx_index: 'u32',
  txid: 'hash',
  wtxid: 'hash',
  time: 'u32',
  size: 'u32',
  weight: 'u32',
  is_dilithium: 'bool',
})

export const BLOCK_TXS = table('block_txs', { ...TX_LOCATIONS.columns, moved: 'u64' })

export const TX_BODIES = table('tx_bodies', { txid: 'hash', body: 'bytes', prevouts: 'bytes' })

export const TX_WITNESSES = table('tx_witnesses', { wtxid: 'hash', witness: 'bytes' })

export const SPENDS = table('spends', {
  prev_txid: 'hash',
  prev_vout: 'u32',
  height: 'u32',
  block_hash: 'hash',
  txid: 'hash',
  vin: 'u32',
})

/** The columns of `script_txs` that readers need. */
export const SCRIPT_TX_COLUMNS = {
  script_hash: 'hash',
  ordinal: 'count',
  height: 'u32',
  block_hash: 'hash',
  tx_index: 'u32',
  txid: 'hash',
  time: 'u32',
  received: 'u64',
  sent: 'u64',
  total_received: 'u64',
  total_sent: 'u64',
  unspent_count: 'count',
  first_height: 'u32',
  first_time: 'u32',
  shows_dilithium: 'bool',
} as const

export const SCRIPT_TXS = table('script_txs', { ...SCRIPT_TX_COLUMNS, open_days: 'u16s' })

export const SCRIPT_OUTPUTS = table('script_outputs', {
  script_hash: 'hash',
  depth: 'u32',
  txid: 'hash',
  vout: 'u32',
  spent: 'u8',
  height: 'u32',
  block_hash: 'hash',
  value: 'u64',
})

export const SCRIPT_SPENDS = table('script_spends', {
  script_hash: 'hash',
  height: 'u32',
  block_hash: 'hash',
  depth: 'u32',
  txid: 'hash',
  vout: 'u32',
})

export const SCRIPT_BALANCES = table('script_balances', {
  height: 'u32',
  block_hash: 'hash',
  script_hash: 'hash',
  address: 'text',
  before: 'u64',
  balance: 'u64',
  tx_count: 'count',
  is_dilithium: 'bool',
})

export const OP_RETURNS = table('op_returns', {
  ordinal: 'u64',
  height: 'u32',
  block_hash: 'hash',
  tx_index: 'u32',
  txid: 'hash',
  vout: 'u32',
  time: 'u32',
  data: 'bytes',
})

export const SCRIPTS = table('scripts', { script_hash: 'hash', script: 'bytes' })

/** Returns the value of the columns `depth` for a height: the newest block sorts first. */
export function heightDesc(height: number): number {
  return 0xffff_ffff - height
}

export type BlockRow = Row<typeof BLOCKS.columns>
