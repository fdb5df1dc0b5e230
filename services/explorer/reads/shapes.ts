import { Type, type Static, type TSchema } from '@sinclair/typebox'

/** The answers' shapes. Rows of the chain are snake_case, computed figures camelCase; amounts decimal strings in base units. */
const Amount = Type.String({ description: 'base units, decimal' })
const Hash = Type.String({ description: '64 hexadecimal characters' })
const Hex = Type.String({ description: 'hexadecimal' })
const Time = Type.String({ description: 'ISO 8601 UTC with milliseconds' })
const Decimal = Type.String({ description: 'decimal, never with an exponent' })
const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const paged = <T extends TSchema>(item: T) =>
  Type.Object({ items: Type.Array(item), total: Type.Integer(), page: Type.Integer(), limit: Type.Integer() })
export const windowed = <T extends TSchema>(item: T) =>
  Type.Object({
    items: Type.Array(item),
    total: Type.Integer(),
    limit: Type.Integer(),
    offset: Type.Integer(),
  })
export const listed = <T extends TSchema>(item: T) =>
  Type.Object({ items: Type.Array(item), limit: Type.Integer() })

/** datadir_*: null where the node's data directory cannot be read from here. `mempoolminfee` is the node's own, coins per kvB. */
export const NodeHealth = Type.Object({
  disk: Type.Object({
    blockchain_size: Type.Integer({ description: 'bytes' }),
    datadir_free_bytes: orNull(Type.Integer()),
    datadir_total_bytes: orNull(Type.Integer()),
    datadir_free_pct: orNull(Type.Number({ minimum: 0, maximum: 100 })),
  }),
  mempool: Type.Object({
    size: Type.Integer(),
    bytes: Type.Integer(),
    usage: Type.Integer(),
    maxmempool: Type.Integer(),
    mempoolminfee: Type.Number(),
    unbroadcastcount: Type.Integer(),
  }),
  peers: Type.Object({
    connections: Type.Integer(),
    connections_in: Type.Integer(),
    connections_out: Type.Integer(),
  }),
  uptime: Type.Integer({ description: 'seconds' }),
})

export const Block = Type.Object({
  hash: Hash,
  height: Type.Integer(),
  canonical: Type.Boolean(),
  prev_hash: Hash,
  merkle_root: Hash,
  timestamp: Time,
  median_time: Time,
  nonce: Decimal,
  bits: Hex,
  difficulty: Decimal,
  version: Type.Integer(),
  size: Type.Integer(),
  weight: Type.Integer(),
  stripped_size: Type.Integer(),
  tx_count: Type.Integer(),
  total_fees: Amount,
  subsidy: Amount,
  miner_address: orNull(Type.String()),
  miner_label: orNull(Type.String()),
  chainwork: Hex,
})
export type Block = Static<typeof Block>

export const Input = Type.Object({
  txid: Hash,
  vin: Type.Integer(),
  block_height: orNull(Type.Integer()),
  prev_txid: orNull(Hash),
  prev_vout: orNull(Type.Integer()),
  script_sig: Type.Optional(Hex),
  sequence: Decimal,
  witness: Type.Optional(Type.Array(Hex)),
  value: orNull(Amount),
  address: orNull(Type.String()),
})
export type Input = Static<typeof Input>

export const Output = Type.Object({
  txid: Hash,
  vout: Type.Integer(),
  block_height: orNull(Type.Integer()),
  value: Amount,
  script_pub_key: Hex,
  script_type: Type.String(),
  spent_txid: orNull(Hash),
  spent_vin: orNull(Type.Integer()),
  addresses: Type.Array(Type.Object({ address: Type.String(), role: Type.Literal('recipient') })),
})
export type Output = Static<typeof Output>

export const Transaction = Type.Object({
  txid: Hash,
  block_hash: orNull(Hash),
  block_height: orNull(Type.Integer()),
  tx_index: orNull(Type.Integer()),
  version: Type.Integer(),
  size: Type.Integer(),
  vsize: Type.Integer(),
  weight: Type.Integer(),
  locktime: Decimal,
  is_coinbase: Type.Boolean(),
  fee: Amount,
  input_count: Type.Integer(),
  output_count: Type.Integer(),
  input_value: Amount,
  output_value: Amount,
  timestamp: Time,
  has_witness: Type.Boolean(),
  is_dilithium: Type.Boolean(),
  inputs: Type.Array(Input),
  outputs: Type.Array(Output),
})
export type Transaction = Static<typeof Transaction>

export const AddressSummary = Type.Object({
  address: Type.String(),
  script_type: Type.String(),
  first_seen_height: orNull(Type.Integer()),
  first_seen: orNull(Time),
  last_seen: orNull(Time),
  tx_count: Type.Integer(),
  total_received: Amount,
  total_sent: Amount,
  balance: Amount,
  unspent_count: Type.Integer(),
  isDilithium: Type.Boolean(),
  unconfirmed: Type.Object({ balance_change: Amount, tx_count: Type.Integer() }),
})
export type AddressSummary = Static<typeof AddressSummary>

export const AddressTransaction = Type.Object({
  address: Type.String(),
  txid: Hash,
  block_height: orNull(Type.Integer()),
  tx_index: orNull(Type.Integer()),
  value_change: Type.String({ description: 'base units, signed decimal' }),
  timestamp: Time,
})
export type AddressTransaction = Static<typeof AddressTransaction>

export const Utxo = Type.Object({
  txid: Hash,
  vout: Type.Integer(),
  block_height: Type.Integer(),
  value: Amount,
  script_pub_key: Hex,
  script_type: Type.String(),
  spent_txid: Type.Null(),
  spent_vin: Type.Null(),
})
export type Utxo = Static<typeof Utxo>

export const StatsSummary = Type.Object({
  tipHeight: Type.Integer(),
  tipHash: Type.String(),
  difficulty: Decimal,
  totalTransactions: Type.Integer(),
  activeAddresses: Type.Integer(),
  mempoolSize: Type.Integer(),
  indexerStatus: Type.Union([Type.Literal('live'), Type.Literal('syncing'), Type.Literal('stalled')]),
  nodeHeight: Type.Integer(),
  tipMatch: Type.Boolean(),
  lastReconciledAt: Time,
})
export type StatsSummary = Static<typeof StatsSummary>

export const Supply = Type.Object({
  circulatingSupply: Amount,
  utxoCount: Type.Integer(),
  maxSupply: Amount,
})

export const MempoolSummary = Type.Object({
  txCount: Type.Integer(),
  totalVsize: Type.Integer(),
  totalFees: Amount,
  feeHistogram: Type.Array(
    Type.Object({ bucket: Type.String(), count: Type.Integer(), totalVsize: Type.Integer() }),
  ),
})

export const MempoolTransaction = Type.Object({
  txid: Hash,
  fee: Amount,
  vsize: Type.Integer(),
  weight: Type.Integer(),
  size: Type.Integer(),
  fee_rate: Decimal,
  value: Amount,
  first_seen: Time,
  is_dilithium: Type.Boolean(),
})
export type MempoolTransaction = Static<typeof MempoolTransaction>

export const SearchResult = Type.Object({
  type: Type.Union([Type.Literal('block'), Type.Literal('transaction'), Type.Literal('address')]),
  value: Type.String(),
  query: Type.String(),
})
export type SearchResult = Static<typeof SearchResult>

const Percent = Type.String({ description: 'per cent, decimal' })
const UtcDate = Type.String({ description: 'YYYY-MM-DD, UTC' })

export const RichListItem = Type.Object({
  rank: Type.Integer(),
  address: Type.String(),
  balance: Amount,
  percentage: Percent,
  tx_count: Type.Integer(),
  isDilithium: Type.Boolean(),
  label: orNull(Type.String()),
})

export const DailyItem = Type.Object({
  date: UtcDate,
  block_count: Type.Integer(),
  tx_count: Type.Integer(),
  total_fees: Amount,
  active_addresses: Type.Integer(),
  new_addresses: Type.Integer(),
  avg_difficulty: Decimal,
  hashrate: Decimal,
  total_output: Amount,
})

export const DilithiumStats = Type.Object({
  dilithiumTransactions: Type.Integer(),
  totalTransactions: Type.Integer(),
  dilithiumAddresses: Type.Integer(),
  totalAddresses: Type.Integer(),
  dilithiumTxPercent: Percent,
  dilithiumAddrPercent: Percent,
})
export type DilithiumStats = Static<typeof DilithiumStats>

export const AdoptionItem = Type.Composite([Type.Object({ date: UtcDate }), DilithiumStats])

export const MiningPools = Type.Object({
  window: Type.Integer(),
  blockCount: Type.Integer(),
  pools: Type.Array(
    Type.Object({
      name: Type.String(),
      slug: Type.String(),
      address: orNull(Type.String()),
      link: orNull(Type.String()),
      blockCount: Type.Integer(),
      percentage: Percent,
    }),
  ),
})

export const DifficultyItem = Type.Object({ height: Type.Integer(), timestamp: Time, difficulty: Decimal })
export type DifficultyItem = Static<typeof DifficultyItem>

export const HashrateItem = Type.Object({
  date: UtcDate,
  hashrate: Decimal,
  avg_difficulty: Decimal,
  block_count: Type.Integer(),
})

export const NetworkHashrate = Type.Object({
  hashrate: Decimal,
  window: Type.Integer(),
  blockCount: Type.Integer(),
  elapsedSeconds: Type.Integer(),
})

const WhaleParty = Type.Object({
  address: orNull(Type.String()),
  label: orNull(Type.String()),
  value: Amount,
})
export type WhaleParty = Static<typeof WhaleParty>

export const WhaleAlert = Type.Object({
  txid: Hash,
  block_height: orNull(Type.Integer()),
  timestamp: Time,
  value: Amount,
  fee: Amount,
  is_dilithium: Type.Boolean(),
  from: Type.Array(WhaleParty),
  to: Type.Array(WhaleParty),
})
export type WhaleAlert = Static<typeof WhaleAlert>

export const AddressLabel = Type.Object({
  address: Type.String(),
  label: Type.String(),
  category: Type.String(),
  url: orNull(Type.String()),
  verified: Type.Boolean(),
})

export const OpReturn = Type.Object({
  txid: Hash,
  vout: Type.Integer(),
  block_height: orNull(Type.Integer()),
  timestamp: Time,
  data_hex: Hex,
  data_text: orNull(Type.String()),
  size: Type.Integer(),
})
export type OpReturn = Static<typeof OpReturn>

export const TransactionOpReturns = Type.Object({ txid: Hash, items: Type.Array(OpReturn) })
