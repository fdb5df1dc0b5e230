import { type Static, Type } from '@sinclair/typebox'
import {
  Address,
  Amount,
  dilithiumFlag,
  flag,
  Hash,
  Height,
  Hex,
  int,
  list,
  long,
  MinedAt,
  oneOf,
  orNull,
  OWN_RATE,
  Percent,
  Protection,
  text,
  Time,
  UtcDate,
} from './fields.js'

// The shapes of scripts, of packages, of the statistics of a block and of the unspent outputs by type. Those of `shapes.ts` include them.

const asm = (description: string) =>
  orNull(
    text(`${description}, as opcodes in the spelling of Esplora; null if there is none, or it is too long`),
  )

export const InputScripts = Type.Object({
  vin: int('index among the inputs'),
  script_sig_asm: asm('script of the input'),
  redeem_script_asm: asm('script that the spend of a P2SH output reveals'),
  witness_script_asm: asm('script that the spend of a P2WSH, P2TR or P2MR output reveals'),
})
export type InputScripts = Static<typeof InputScripts>

export const OutputScript = Type.Object({
  vout: int('index among the outputs'),
  script_asm: asm('script of the output'),
})

export const TransactionScripts = Type.Object({
  txid: Hash,
  inputs: list(InputScripts, 'in their order'),
  outputs: list(OutputScript, 'in their order'),
})
export type TransactionScripts = Static<typeof TransactionScripts>

const WITHOUT_COINBASE = 'of the transactions without the coinbase'
const FloorRate = Type.String({ description: 'base units per virtual byte, rounded down' })

const PERCENTILES = { p10: FloorRate, p25: FloorRate, p50: FloorRate, p75: FloorRate, p90: FloorRate }

export const BlockStatistics = Type.Object({
  hash: Hash,
  height: Height,
  canonical: flag('false for a block that a reorganisation replaced'),
  timestamp: Time,
  tx_count: int('transactions'),
  input_count: int('inputs, without the coinbase'),
  output_count: int('outputs'),
  total_output: Amount,
  total_fees: Amount,
  min_fee: Amount,
  median_fee: Type.String({
    description: 'median of the fees, each transaction counted once, base units, decimal, rounded down',
    format: 'uint64',
  }),
  average_fee: Amount,
  max_fee: Amount,
  min_fee_rate: FloorRate,
  average_fee_rate: FloorRate,
  max_fee_rate: FloorRate,
  fee_rate_percentiles: Type.Object(PERCENTILES, {
    description:
      'the lowest fee rates up to which the transactions have 10, 25, 50, 75 and 90 percent of their weight',
  }),
  tx_size: int(`bytes ${WITHOUT_COINBASE}`),
  tx_weight: int(`weight units ${WITHOUT_COINBASE}`),
  min_tx_size: int(`fewest bytes ${WITHOUT_COINBASE}`),
  median_tx_size: int(`median of the bytes ${WITHOUT_COINBASE}`),
  average_tx_size: int(`average of the bytes ${WITHOUT_COINBASE}, rounded down`),
  max_tx_size: int(`most bytes ${WITHOUT_COINBASE}`),
  segwit_tx_count: int('transactions with a witness, without the coinbase'),
  segwit_size: int('bytes of these transactions'),
  segwit_weight: int('weight units of these transactions'),
  witness_input_count: int('inputs with a witness, without the coinbase'),
  taproot_key_spends: int('inputs that spend a P2TR output by its key'),
  taproot_script_spends: int('inputs that spend a P2TR output by a script'),
  subsidy: Type.String({
    description: 'the coins that the block may create, base units, decimal',
    format: 'uint64',
  }),
  subsidy_claimed: Type.String({
    description:
      'the output of its coinbase without the fees, base units, signed decimal: less than the subsidy if the miner gave up a part',
    format: 'int64',
  }),
  utxo_increase: int('change of the number of unspent outputs; data outputs do not count'),
  utxo_size_increase: int('change of the bytes of unspent outputs, as the node counts them'),
})
export type BlockStatistics = Static<typeof BlockStatistics>

const amountOf = (description: string) =>
  Type.String({ description: `${description}, base units, decimal`, format: 'uint64' })
const ExposedValue = amountOf('of scripts of which the chain shows a key of ECDSA or Schnorr signatures')
const ProtectedValue = amountOf(
  'of scripts that require a post-quantum signature, or each of whose spends contained one',
)

export const TypeValue = Type.Object({
  script_type: orNull(text('type of the scripts, as the node names it; never null')),
  protection: Type.Union(Protection.anyOf, {
    description: 'protection of a script of the type that was never spent',
  }),
  value: Amount,
  percentage: Percent,
  exposed: ExposedValue,
  protected: ProtectedValue,
  outputs: long('unspent outputs'),
  addresses: orNull(int('funded addresses; null for a type without addresses')),
})
export type TypeValue = Static<typeof TypeValue>

const EXPOSURE_SUMS = {
  value: amountOf('of all unspent outputs'),
  exposed: ExposedValue,
  hidden: amountOf('of scripts with the hash of a key or script that no spend has revealed'),
  protected: ProtectedValue,
  unknown: amountOf('of scripts of which the type says nothing about keys'),
  exposedPercent: Percent,
}

export const Exposure = Type.Object({
  height: Height,
  ...EXPOSURE_SUMS,
  types: list(TypeValue, 'by type of script, largest first'),
})

export const ExposureItem = Type.Object({ date: UtcDate, height: Height, ...EXPOSURE_SUMS })

const ScriptType = text('type of the script, as the node names it')

export const TypeAmounts = Type.Object({
  script_type: ScriptType,
  value: Amount,
  exposed: ExposedValue,
  protected: ProtectedValue,
})

export const ValueItem = Type.Object({
  date: UtcDate,
  height: Height,
  types: list(TypeAmounts, 'types with unspent outputs, largest first'),
})

export const Revelation = Type.Object({
  txid: Hash,
  block_height: orNull(MinedAt),
  timestamp: orNull(Time),
  vin: orNull(int('index of the input that shows it; null if an output does')),
  vout: orNull(int('index of the output whose script shows it; null if an input does')),
  address: orNull(Address),
  script_type: ScriptType,
  inner_script_type: orNull(
    text('type of the script that the spend of a hash of a script shows; null for other spends'),
  ),
})

export const ShownKey = Type.Object({
  key: Type.String({ description: 'public key, hexadecimal; of P2TR 32 bytes' }),
  isDilithium: dilithiumFlag('whether it is a key of Dilithium signatures'),
})

export const KeyScript = Type.Object({
  address: orNull(Address),
  script_pub_key: Hex,
  script_type: ScriptType,
  balance: Amount,
  tx_count: int('confirmed transactions'),
})

export const AddressExposure = Type.Object({
  address: Type.Union([Address, Type.Null()], {
    description:
      'as in the request, if it names an address; otherwise that of the script: null if it has none, empty in gRPC',
    presence: 'implicit',
  }),
  script_type: ScriptType,
  protection: Type.Union(Protection.anyOf, {
    description:
      'as in the summary, but exposed also if another script of the same key, or an unconfirmed transaction, shows the key',
  }),
  reason: oneOf(
    ['script', 'hash', 'spend', 'same_key', 'unconfirmed'],
    'what decides it: the type of the script; that the chain shows only a hash; a confirmed spend of the script; a transaction of another script of the same key; an unconfirmed spend',
  ),
  balance: Amount,
  at_risk: amountOf('the confirmed balance if the key is exposed, else 0'),
  tx_count: int('confirmed transactions'),
  revelation: Type.Union([Revelation, Type.Null()], {
    description:
      'the first transaction that shows a key of which quantum computers derive the private key, or the script of which this one has the hash; null if none does',
  }),
  keys: list(ShownKey, 'the first 20 public keys that this transaction or the script shows'),
  same_key: list(
    KeyScript,
    'other scripts of chain and mempool that the owner of the key alone can spend, as far as the key or its hash is known',
  ),
})
export type AddressExposure = Static<typeof AddressExposure>

const Change = (description: string) => orNull(text(description))

export const Retarget = Type.Object({
  difficulty: Type.String({
    description:
      'of the blocks of the period, decimal: not that of the late blocks which some test networks allow to be easier',
  }),
  interval: int('blocks of a period: the difficulty changes after so many'),
  start_height: int('height of the first block of the period'),
  start_time: Time,
  next_height: orNull(
    int('height of the first block of the next period; null if the difficulty never changes'),
  ),
  blocks_left: orNull(int('blocks until that one is mined, itself included; null if there is none')),
  expected_time: orNull(
    Type.String({
      description: 'time of that block at the pace of the period so far, ISO 8601; null if there is none',
    }),
  ),
  expected_change: Change(
    'change of the difficulty at that pace, percent, signed decimal; null if there is none, if it depends on each block, or before the second block of the period',
  ),
  previous_change: Change(
    'change at the beginning of the period, percent, signed decimal; null in the first one',
  ),
})

const PackageMember = Type.Object({
  txid: Hash,
  fee: Amount,
  vsize: int('virtual bytes'),
  weight: int('weight units'),
})

const ProjectedPlace = Type.Object({
  block: int('number of the projected block: 1 is the next one'),
  tx_index: int('index in it; the coinbase is 0'),
  vsize_before: long('virtual bytes of the transactions before it in this block'),
})

export const TransactionPackage = Type.Object({
  txid: Hash,
  block_height: orNull(int('height of its block; null for an unconfirmed transaction')),
  first_seen: Type.Union([Time, Type.Null()], {
    description:
      'when the node first saw it, in ISO 8601 UTC with milliseconds; null for a confirmed one of which that is not known: it was not seen in the mempool, or too long ago',
  }),
  waited_seconds: orNull(
    int('seconds from then to the time of its block, 0 if that is earlier; null if either is not known'),
  ),
  fee: Amount,
  vsize: int('virtual bytes'),
  weight: int('weight units'),
  fee_rate: text(OWN_RATE),
  effective_fee_rate: text(
    'fee rate of the package in which a miner takes it, base units per virtual byte, decimal; the own one if not all connected transactions are known',
  ),
  ancestors: list(
    PackageMember,
    'transactions that it spends from, directly or not, and that are as unconfirmed as it, or in the same block; each after its own ancestors',
  ),
  descendants: list(
    PackageMember,
    'transactions that spend from it, directly or not, and that are unconfirmed, or in the same block; each after its own ancestors',
  ),
  complete: flag('whether the lists have all: more than 1,000 connected transactions are not searched'),
  projected: Type.Union([ProjectedPlace, Type.Null()], {
    description:
      'its place in the projected blocks; null if it is confirmed, later than all of them, or newer than the projection',
  }),
})
export type TransactionPackage = Static<typeof TransactionPackage>

export const PoolDay = Type.Object({
  date: UtcDate,
  block_count: int('blocks of the day'),
  pool_block_count: int('blocks of the mining pool'),
  percentage: Percent,
})

export const PoolBlock = Type.Object({ height: Height, hash: Hash, timestamp: Time })

export const MiningPoolDetails = Type.Object({
  name: text('name'),
  slug: text('name in URLs'),
  link: orNull(text('website')),
  window: int('newest blocks that are counted'),
  blockCount: int('blocks of the mining pool among them'),
  percentage: Percent,
  days: list(
    PoolDay,
    'UTC days of the counted blocks, oldest first; a day of which some are not counted is left out',
  ),
  items: list(PoolBlock, 'the newest blocks of the mining pool, newest first'),
  limit: int('maximum number of blocks'),
})
export type MiningPoolDetails = Static<typeof MiningPoolDetails>
