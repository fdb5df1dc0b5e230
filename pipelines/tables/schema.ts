import { type Row, table } from './rowbinary.js'

// The columns of the tables; `schema.sql` describes them. Those of `heads` are in `head.ts`.

/** The columns by which a row names its block. */
const BLOCK = { height: 'u32', block_tag: 'u32' } as const

export const WRITERS = table('writers', {
  writer: 'u64',
  position: 'i64',
  claimed_at: 'ms',
  successor: 'text',
  replaces: 'text',
})

/** The columns of `blocks` that readers of any block need. */
export const BLOCK_COLUMNS = {
  height: 'u32',
  hash: 'hash',
  block_tag: 'u32',
  prev_hash: 'hash',
  merkle_root: 'hash',
  time: 'u32',
  median_time: 'u32',
  nonce: 'u32',
  bits: 'u32',
  version: 'u32',
  size: 'u32',
  stripped_size: 'u32',
  weight: 'u32',
  tx_count: 'u32',
  input_count: 'u32',
  output_count: 'u32',
  total_fees: 'u64',
  total_output: 'u64',
  subsidy: 'u64',
  payouts: 'bytes',
  coinbase_script: 'bytes',
  chainwork: 'hash',
  dilithium_tx_count: 'u32',
  work: 'u256',
  difficulty: 'f64',
  active_addresses: 'u32',
  new_addresses: 'u32',
  sum_txs: 'sum',
  sum_dilithium_txs: 'sum',
  supply: 'sum',
  utxo_count: 'sum',
  addresses: 'sum',
  funded_addresses: 'sum',
  dilithium_addresses: 'sum',
  dilithium_funded_addresses: 'sum',
  sum_op_returns: 'sum',
} as const

/** The columns of `blocks` with statistics of its transactions. */
export const BLOCK_STATISTICS = {
  tx_size: 'u32',
  tx_weight: 'u32',
  min_tx_size: 'u32',
  median_tx_size: 'u32',
  max_tx_size: 'u32',
  min_fee: 'u64',
  median_fee: 'u64',
  max_fee: 'u64',
  min_fee_rate: 'u64',
  max_fee_rate: 'u64',
  fee_rate_percentiles: 'u64s',
  segwit_tx_count: 'u32',
  segwit_size: 'u32',
  segwit_weight: 'u32',
  witness_input_count: 'u32',
  taproot_key_spends: 'u32',
  taproot_script_spends: 'u32',
  coinbase_output: 'u64',
  utxo_increase: 'i64',
  utxo_size_increase: 'i64',
} as const

/** The columns of `blocks` with totals of the unspent outputs by the type of their scripts. */
export const TYPE_SUMS = {
  type_values: 'sums',
  type_exposed: 'sums',
  type_protected: 'sums',
  type_outputs: 'sums',
  type_funded: 'sums',
} as const

export const BLOCKS = table('blocks', { ...BLOCK_COLUMNS, ...BLOCK_STATISTICS, ...TYPE_SUMS })

/**
 * The number of the highest blocks whose rows of point tables may be missing until they are written again, because a power cut lost
 * them: more blocks than a backfill writes before the system has flushed the write-ahead log of these tables.
 */
export const UNSYNCED_BLOCKS = 5000

export const BLOCK_HEIGHTS = table('block_heights', { hash: 'hash', height: 'u32' })

export const TXS = table('txs', {
  txid: 'hash',
  ...BLOCK,
  tx_index: 'u32',
  is_dilithium: 'bool',
  body: 'bytes',
  prevouts: 'bytes',
  witness: 'bytes',
})

export const TX_LOCATIONS = table('tx_locations', { txid_prefix: 'hash8', ...BLOCK, tx_index: 'u32' })

export const REPLACED_WITNESSES = table('replaced_witnesses', { txid: 'hash', ...BLOCK, witness: 'bytes' })

export const BLOCK_TXS = table('block_txs', {
  ...BLOCK,
  tx_index: 'u32',
  txid: 'hash',
  witness_tag: 'u32',
  moved: 'u64',
  is_dilithium: 'bool',
})

export const SPENDS = table('spends', {
  prev_txid: 'hash20',
  prev_vout: 'u32',
  ...BLOCK,
  tx_index: 'u32',
  vin: 'u32',
})

/** The columns of `script_txs` that readers need. */
export const SCRIPT_TX_COLUMNS = {
  script_hash: 'hash20',
  ordinal: 'u32',
  ...BLOCK,
  tx_index: 'u32',
  total_received: 'u64',
  total_sent: 'u64',
  funded_count: 'u32',
  unspent_count: 'u32',
  spend_kinds: 'u8',
} as const

export const SCRIPT_TXS = table('script_txs', {
  ...SCRIPT_TX_COLUMNS,
  has_address: 'bool',
  open_days: 'u16s',
})

export const SCRIPT_OUTPUTS = table('script_outputs', {
  script_hash: 'hash20',
  spent: 'bool',
  height_desc: 'u32',
  txid_prefix: 'hash16',
  vout: 'u32',
  age: 'u32',
  block_tag: 'u32',
  tx_index: 'u32',
  value: 'u64',
})

/** The columns of `script_outputs` that readers need. */
export const SCRIPT_OUTPUT_COLUMNS = {
  script_hash: 'hash20',
  spent: 'bool',
  txid_prefix: 'hash16',
  vout: 'u32',
  output_height: 'u32',
  ...BLOCK,
  tx_index: 'u32',
  value: 'u64',
} as const

/** The columns of `unspent_lists` that readers need. */
export const UNSPENT_LIST_COLUMNS = { script_hash: 'hash20', ...BLOCK, size: 'count' } as const

export const SCRIPT_BALANCES = table('script_balances', {
  ...BLOCK,
  script_hash: 'hash20',
  address: 'text',
  before: 'u64',
  balance: 'u64',
  tx_count: 'u32',
  is_dilithium: 'bool',
})

export const RANKING_CHANGES = table('ranking_changes', {
  at_height: 'u32',
  at_hash: 'hash',
  script_hash: 'hash20',
  height: 'i64',
  address: 'text',
  balance: 'u64',
  tx_count: 'u32',
  is_dilithium: 'bool',
})

export const OP_RETURNS = table('op_returns', {
  ordinal: 'u64',
  ...BLOCK,
  tx_index: 'u32',
  txid: 'hash',
  vout: 'u32',
  data: 'bytes',
  is_script: 'bool',
})

export const SCRIPTS = table('scripts', { script_hash: 'hash20', script: 'bytes' })

export const ADDRESS_ORDER = table('address_order', { address_key: 'u64', script_prefix: 'hash5' })

/** Returns the value of the columns `height_desc` for a height: the newest block sorts first. */
export function heightDesc(height: number): number {
  return 0xffff_ffff - height
}

/** Returns the value of `script_outputs.txid_prefix` for a txid. */
export function outputTxidPrefix(txid: string): string {
  return txid.slice(0, 32)
}

export type BlockRow = Row<typeof BLOCKS.columns>
