import { Type, type Static } from '@sinclair/typebox'
import { COINBASE_MATURITY } from '../../../../pipelines/chain/networks.js'
import {
  Address,
  Amount,
  Decimal,
  dilithiumFlag,
  FeeRate,
  flag,
  Hash,
  Hashrate,
  Height,
  Hex,
  int,
  Limit,
  list,
  long,
  MinedAt,
  oneOf,
  orNull,
  OWN_RATE,
  Percent,
  Protection,
  SignedAmount,
  text,
  Time,
  Total,
  UtcDate,
  word,
} from './fields.js'
import { departureFields } from './mempool/replacement-shapes.js'

export * from './feed-shapes.js'
export * from './figure-shapes.js'
export * from './mempool/content-shapes.js'
export * from './mempool/history-shapes.js'
export {
  BlocksChance,
  BlocksEstimate,
  ConfirmationBlocks,
  ConfirmationForecast,
  ConfirmationMinutes,
  FeeEstimates,
  FeeRates,
  MinutesChance,
  MinutesEstimate,
} from './fees/forecast-shapes.js'
export * from './wallet/shapes.js'
export {
  Replacement,
  ReplacementMember,
  Replacements,
  ReplacementTree,
} from './mempool/replacement-shapes.js'

/**
 * The shapes of the answers. Rows of the chain are snake_case, computed figures camelCase; amounts are decimal strings in base
 * units. Every field has a description, from which the documentation of the other transports is generated. Formats are those of
 * the OpenAPI registry; an integer without one is a signed one of 32 bits.
 */
const EFFECTIVE_RATE =
  'fee rate of the package in which the projection of blocks takes it, base units per virtual byte, decimal'

export const NodeHealth = Type.Object({
  disk: Type.Object(
    {
      blockchain_size: long('bytes of blocks and undo data'),
      datadir_free_bytes: orNull(long('free bytes; null if the data directory cannot be read')),
      datadir_total_bytes: orNull(long('total bytes; null if the data directory cannot be read')),
      datadir_free_pct: orNull(
        Type.Number({ minimum: 0, maximum: 100, description: 'percent of the total bytes' }),
      ),
    },
    { description: 'the disk of the node' },
  ),
  mempool: Type.Object(
    {
      size: int('transactions'),
      bytes: long('virtual bytes'),
      usage: long('bytes of memory'),
      maxmempool: long('maximum bytes of memory'),
      mempoolminfee: Type.Number({ description: "the node's own figure, coins per 1000 virtual bytes" }),
      unbroadcastcount: int('transactions that no peer has requested yet'),
    },
    { description: 'the mempool of the node' },
  ),
  peers: Type.Object(
    {
      connections: int('peers'),
      connections_in: int('peers that connected to the node'),
      connections_out: int('peers that the node connected to'),
    },
    { description: 'the peers of the node' },
  ),
  uptime: int('seconds since the start of the node'),
})

export const Block = Type.Object({
  hash: Hash,
  height: Height,
  canonical: flag('false for a block that a reorganisation replaced'),
  prev_hash: Hash,
  merkle_root: Hash,
  timestamp: Time,
  median_time: Time,
  nonce: Decimal,
  bits: Hex,
  difficulty: Decimal,
  version: word('as in the header, unsigned'),
  size: int('bytes'),
  weight: int('weight units'),
  stripped_size: int('bytes without witnesses'),
  tx_count: int('transactions'),
  total_fees: Amount,
  subsidy: Amount,
  miner_address: orNull(text('address that the coinbase pays most')),
  miner_label: orNull(text('label of that address, or the mining pool')),
  chainwork: Hex,
})
export type Block = Static<typeof Block>

/** The numbers of signatures and keys of a multisig script. */
const Multisig = Type.Optional(
  Type.Object(
    { required: int('signatures that a spend needs'), keys: int('public keys, of which each may sign once') },
    { description: 'of a multisig script; absent for others' },
  ),
)

/** Says what was left out of an item of a list, because the answer would have become too large. */
const Omitted = Type.Optional(
  Type.Array(text('name of a field'), {
    description:
      'the fields that are null because the answer would have become too large: the path of the transaction has them; absent if there are none',
    presence: 'implicit',
  }),
)

export const Input = Type.Object({
  txid: Hash,
  vin: int('index among the inputs'),
  block_height: orNull(MinedAt),
  prev_txid: orNull(Hash),
  prev_vout: orNull(int('index of the output that is spent; null for a coinbase')),
  script_sig: Type.Optional(orNull(text('hexadecimal; null if the script is empty, or left out'))),
  sequence: Decimal,
  witness: Type.Optional(orNull(list(Hex, 'items of the witness, hexadecimal; null if they are left out'))),
  value: orNull(Amount),
  address: orNull(text('address of the output that is spent')),
  script_pub_key: orNull(
    text('script of the output that is spent, hexadecimal; null for a coinbase, or if it is left out'),
  ),
  script_type: orNull(text('kind of that script, as the node names it; null for a coinbase')),
  multisig: Multisig,
  omitted: Omitted,
})
export type Input = Static<typeof Input>

export const OutputAddress = Type.Object({
  address: Address,
  role: Type.Literal('recipient', { description: 'role of the address' }),
})

export const Output = Type.Object({
  txid: Hash,
  vout: int('index among the outputs'),
  block_height: orNull(MinedAt),
  value: Amount,
  script_pub_key: Type.Union([Hex, Type.Null()], {
    description: 'hexadecimal; null if the script is left out',
  }),
  script_type: text('kind of the script, as the node names it'),
  multisig: Multisig,
  spent_txid: orNull(text('txid of the confirmed transaction that spends it; null if there is none')),
  spent_vin: orNull(int('index of its input that spends it')),
  addresses: Type.Array(OutputAddress, {
    description: 'recipients; none if the script has no address',
    maxItems: 1,
  }),
  omitted: Omitted,
})
export type Output = Static<typeof Output>

export const Transaction = Type.Object({
  txid: Hash,
  block_hash: orNull(Hash),
  block_height: orNull(MinedAt),
  tx_index: orNull(int('index in the block; null while unconfirmed')),
  version: word('as in the transaction, unsigned'),
  size: int('bytes'),
  vsize: int('virtual bytes'),
  weight: int('weight units'),
  locktime: Decimal,
  is_coinbase: flag('whether it creates coins'),
  fee: Amount,
  fee_rate: Type.Optional(Type.String({ description: `${OWN_RATE}; absent once it is confirmed` })),
  effective_fee_rate: Type.Optional(
    Type.String({ description: `${EFFECTIVE_RATE}; absent once it is confirmed` }),
  ),
  input_count: int('inputs'),
  output_count: int('outputs'),
  input_value: Amount,
  output_value: Amount,
  timestamp: Time,
  has_witness: flag('whether an input has a witness'),
  is_dilithium: dilithiumFlag('whether it spends with a Dilithium signature'),
  inputs: list(Input, 'in their order'),
  outputs: list(Output, 'in their order'),
})
export type Transaction = Static<typeof Transaction>

export const DroppedTransaction = Type.Object({
  ...Transaction.properties,
  ...departureFields,
})

export const TransactionHex = Type.Object({
  txid: Hash,
  hex: text('the complete serialisation, hexadecimal'),
})

export const TransactionStatus = Type.Object({
  txid: Hash,
  confirmed: flag('whether a block of the chain contains it'),
  block_hash: orNull(Hash),
  block_height: orNull(MinedAt),
  tx_index: orNull(int('index in the block; null while unconfirmed')),
  timestamp: Time,
})

export const Outspend = Type.Object({
  vout: int('index among the outputs'),
  spent: flag('whether a transaction of the chain or of the mempool spends it'),
  spent_txid: orNull(Hash),
  spent_vin: orNull(int('index of the input that spends it; null while unspent')),
  block_height: orNull(int('height of the block of that transaction; null while it is unconfirmed')),
})
export type Outspend = Static<typeof Outspend>

export const Outspends = Type.Object({
  txid: Hash,
  items: list(Outspend, 'one for each output, in their order'),
})

export const MerkleProof = Type.Object({
  txid: Hash,
  block_hash: Hash,
  block_height: Height,
  tx_index: int('index in the block: its bits, lowest first, say on which side each hash is'),
  merkle_root: Hash,
  merkle: list(Hash, 'hashes to pair with, lowest level first'),
})

/** The address of a script. */
const OwnAddress = Type.Union([Address, Type.Null()], {
  description:
    'as in the request, if it names an address; otherwise that of the script: null if it has none, empty in gRPC',
  presence: 'implicit',
})
export const AddressSummary = Type.Object({
  address: OwnAddress,
  script_pub_key: orNull(text('hexadecimal; null if the script is left out')),
  script_type: text('kind of the script, as the node names it'),
  multisig: Multisig,
  scripthash: Type.String({
    description: 'script hash of the Electrum protocol: SHA-256 of the script, its bytes in reverse order',
  }),
  first_seen_height: orNull(int('height of its first block; null while unconfirmed')),
  first_seen: orNull(Time),
  last_seen: orNull(Time),
  tx_count: int('confirmed transactions'),
  total_received: Amount,
  total_sent: Amount,
  balance: Amount,
  funded_count: int('confirmed outputs that it ever received'),
  spent_count: int('confirmed outputs that are spent'),
  unspent_count: int('confirmed outputs that are unspent'),
  protection: Protection,
  protection_by: oneOf(
    ['script', 'spend'],
    'what says so: the script itself, or a confirmed spend of it, which has revealed a key or contained a post-quantum signature',
  ),
  isDilithium: dilithiumFlag('whether it is a Dilithium address'),
  unconfirmed: Type.Object(
    { balance_change: SignedAmount, tx_count: int('unconfirmed transactions') },
    { description: 'changes by unconfirmed transactions' },
  ),
  omitted: Omitted,
})
export type AddressSummary = Static<typeof AddressSummary>

export const AddressEntry = Type.Object({
  address: text('as in the request'),
  summary: Type.Union([AddressSummary, Type.Null()], { description: 'null if there is an error' }),
  error: orNull(text('why there is no summary; null if there is one')),
  code: orNull(
    text(
      'code of the error: HW_INVALID_ARGUMENT, or HW_ADDRESS_NOT_FOUND for an address or script never seen',
    ),
  ),
})
export type AddressEntry = Static<typeof AddressEntry>

export const AddressTransaction = Type.Object({
  address: OwnAddress,
  txid: Hash,
  block_height: orNull(MinedAt),
  tx_index: orNull(int('index in the block; null while unconfirmed')),
  value_change: SignedAmount,
  timestamp: Time,
})
export type AddressTransaction = Static<typeof AddressTransaction>

export const BalanceItem = Type.Object({
  date: Type.String({ description: 'YYYY-MM-DD, UTC' }),
  balance: Amount,
  received: Amount,
  sent: Amount,
  tx_count: int('transactions of the address on the day'),
})

export const Utxo = Type.Object({
  txid: Hash,
  vout: int('index among the outputs'),
  block_height: orNull(MinedAt),
  value: Amount,
  script_pub_key: Type.Union([Hex, Type.Null()], {
    description: 'hexadecimal; null if the script is left out, empty in gRPC',
    presence: 'implicit',
  }),
  script_type: text('kind of the script, as the node names it'),
  multisig: Multisig,
  spent_txid: Type.Null({ description: 'an unspent output has none' }),
  spent_vin: Type.Null({ description: 'an unspent output has none' }),
  is_coinbase: flag(
    `whether a coinbase created it: it can be spent ${String(COINBASE_MATURITY)} blocks after its own at the earliest`,
  ),
  omitted: Omitted,
})
export type Utxo = Static<typeof Utxo>

export const StatsSummary = Type.Object({
  tipHeight: int('height of the newest block'),
  tipHash: Hash,
  difficulty: Decimal,
  totalTransactions: long('confirmed transactions'),
  activeAddresses: long('addresses with a balance'),
  mempoolSize: int('unconfirmed transactions'),
  indexerStatus: oneOf(
    ['live', 'syncing', 'node_syncing', 'stalled'],
    'live, behind the node, behind a node that downloads its chain, or without a heartbeat',
  ),
  nodeHeight: int('height of the node at its last heartbeat; -1 before any'),
  nodeHeaders: int(
    'height of the best header that the node has, above nodeHeight while it downloads blocks; -1 if unknown',
  ),
  tipMatch: flag('whether the newest block is that of the node'),
  lastReconciledAt: Type.String({
    description: 'time of the last heartbeat of the node, ISO 8601 UTC with milliseconds',
    format: 'date-time',
  }),
})
export type StatsSummary = Static<typeof StatsSummary>

export const Supply = Type.Object({
  circulatingSupply: Amount,
  utxoCount: long('unspent outputs'),
  maxSupply: Amount,
})

export const FeeBucket = Type.Object({
  bucket: text('base units per virtual byte, lower bound included: "1-2", "100+"'),
  count: int('transactions'),
  totalVsize: long('virtual bytes'),
})

export const MempoolSummary = Type.Object({
  txCount: int('transactions'),
  totalVsize: long('virtual bytes'),
  totalFees: Amount,
  feeHistogram: list(FeeBucket, 'lowest first, including empty ones'),
})

export const MempoolTxids = Type.Object({
  items: list(Hash, 'txids of unconfirmed transactions, in ascending order'),
  total: Total,
  limit: Limit,
  next_cursor: orNull(text('`cursor` of the request that continues this list; null at its end')),
})

export const MempoolTransaction = Type.Object({
  txid: Hash,
  fee: Amount,
  vsize: int('virtual bytes'),
  weight: int('weight units'),
  size: int('bytes'),
  fee_rate: text(OWN_RATE),
  effective_fee_rate: text(EFFECTIVE_RATE),
  value: Amount,
  first_seen: Time,
  is_dilithium: dilithiumFlag('whether it spends with a Dilithium signature'),
})
export type MempoolTransaction = Static<typeof MempoolTransaction>

export const ProjectedBlock = Type.Object({
  txCount: int('transactions'),
  totalVsize: int('virtual bytes'),
  totalWeight: int('weight units'),
  totalFees: Amount,
  minFeeRate: FeeRate,
  medianFeeRate: FeeRate,
  maxFeeRate: FeeRate,
})

export const FeeTarget = Type.Object({
  blocks: int('blocks until the confirmation, at most'),
  feeRate: FeeRate,
})

export const RecommendedFees = Type.Object({
  minimumFeeRate: Type.String({
    description: 'what the node requires of a new transaction, base units per virtual byte',
  }),
  relayFeeRate: orNull(
    Type.String({
      description:
        'lowest rate that the node relays while its mempool is not full, base units per virtual byte; null if not known',
    }),
  ),
  incrementalFeeRate: orNull(
    Type.String({
      description:
        'what a replacement must pay more for its own size, base units per virtual byte; null if not known',
    }),
  ),
  items: list(FeeTarget, 'nearest first'),
})

export const BlockFees = Type.Object({
  height: Height,
  timestamp: Time,
  tx_count: int('transactions'),
  total_fees: Amount,
  average_fee: Amount,
  average_fee_rate: FeeRate,
  fullness: Type.String({ description: 'percent of the maximum weight, decimal' }),
})

export const BranchBlock = Type.Object({ height: Height, hash: Hash })

export const Reorg = Type.Object({
  seq: int('number of the reorganisation, as in the channel `reorgs`'),
  fork_height: int('height of the newest block that stays'),
  depth: int('blocks disconnected'),
  disconnected: list(BranchBlock, 'blocks of the branch that left the chain, highest first'),
  connected: list(BranchBlock, 'blocks of the branch that replaced it, lowest first'),
})

const Found = {
  type: oneOf(
    ['block', 'transaction', 'address', 'script'],
    'type of the result: `script` for one without an address',
  ),
  value: text('hash, txid, address or script hash, in its one canonical spelling'),
}

export const PrefixMatch = Type.Object({
  ...Found,
  confirmed: flag('false for a transaction of the mempool'),
})

export const SearchResult = Type.Object({
  ...Found,
  query: text('as in the request'),
})
export type SearchResult = Static<typeof SearchResult>

export const RichListItem = Type.Object({
  rank: int('rank, from 1'),
  address: Address,
  balance: Amount,
  percentage: Percent,
  tx_count: int('confirmed transactions'),
  isDilithium: dilithiumFlag('whether it is a Dilithium address'),
  label: orNull(text('label of the address, if there is one')),
})

export const DailyItem = Type.Object({
  date: UtcDate,
  block_count: int('blocks'),
  tx_count: int('transactions'),
  total_fees: Amount,
  active_addresses: int('addresses in an input or output of the day'),
  new_addresses: int('addresses that appear for the first time'),
  avg_difficulty: Decimal,
  hashrate: Hashrate,
  total_output: Amount,
})

export const DilithiumStats = Type.Object({
  dilithiumTransactions: long('transactions that spend with a Dilithium signature'),
  totalTransactions: long('confirmed transactions'),
  dilithiumAddresses: long('Dilithium addresses'),
  totalAddresses: long('addresses ever seen'),
  dilithiumTxPercent: Percent,
  dilithiumAddrPercent: Percent,
})
export type DilithiumStats = Static<typeof DilithiumStats>

export const AdoptionItem = Type.Composite([Type.Object({ date: UtcDate }), DilithiumStats])

export const MiningPool = Type.Object({
  name: text('"Unknown" for all blocks of no known mining pool'),
  slug: text('name of the mining pool for URLs'),
  address: orNull(text('address paid by its newest block')),
  link: orNull(text('its website')),
  blockCount: int('blocks'),
  percentage: Percent,
})

export const MiningPools = Type.Object({
  window: int('maximum number of blocks'),
  blockCount: int('blocks'),
  pools: list(MiningPool, 'largest first'),
})

export const DifficultyItem = Type.Object({ height: Height, timestamp: Time, difficulty: Decimal })
export type DifficultyItem = Static<typeof DifficultyItem>

export const HashrateItem = Type.Object({
  date: UtcDate,
  hashrate: Hashrate,
  avg_difficulty: Decimal,
  block_count: int('blocks'),
})

export const NetworkHashrate = Type.Object({
  hashrate: Hashrate,
  window: int('requested number of blocks'),
  blockCount: int('number of blocks counted'),
  elapsedSeconds: int('seconds between their earliest and latest time'),
})

export const WhaleParty = Type.Object({
  address: orNull(text('null for a script without an address')),
  script: Type.Optional(
    Type.Object(
      { script_type: text('its kind, as the node names it'), scripthash: text('its script hash') },
      { description: 'the script, if it has no address; absent otherwise' },
    ),
  ),
  label: orNull(text('label of the address, if there is one')),
  value: Amount,
})
export type WhaleParty = Static<typeof WhaleParty>

export const WhaleAlert = Type.Object({
  txid: Hash,
  block_height: orNull(MinedAt),
  timestamp: Time,
  value: Amount,
  fee: Amount,
  is_dilithium: dilithiumFlag('whether it spends with a Dilithium signature'),
  from: list(WhaleParty, 'senders'),
  to: list(WhaleParty, 'recipients'),
})
export type WhaleAlert = Static<typeof WhaleAlert>

export const AddressLabel = Type.Object({
  address: Address,
  label: text('name of the owner'),
  category: text('category of the owner'),
  url: orNull(text('where to read more')),
  verified: flag('whether the label is verified'),
})

export const OpReturn = Type.Object({
  txid: Hash,
  vout: int('index among the outputs'),
  block_height: orNull(MinedAt),
  timestamp: Time,
  data_hex: Type.Union([Hex, Type.Null()], {
    description: 'hexadecimal; null if the payload is left out',
  }),
  data_text: orNull(text('the payload if it is UTF-8 without control characters')),
  size: int('bytes of the payload'),
  omitted: Omitted,
})
export type OpReturn = Static<typeof OpReturn>

export const TransactionOpReturns = Type.Object({
  txid: Hash,
  items: list(OpReturn, 'in the order of the outputs'),
})
