import { type Static, Type } from '@sinclair/typebox'
import { KEY_TYPES } from '../../wallets/key-types.js'
import {
  Address,
  Amount,
  flag,
  Hash,
  Hex,
  int,
  list,
  MinedAt,
  oneOf,
  orNull,
  SignedAmount,
  text,
  Time,
} from '../fields.js'

// The shapes of wallets: extended public keys and descriptors. Those of `shapes.ts` include them.

const Branch = int(
  'place among the alternatives of the path: 0 of scripts that receive, 1 of change; 0 alone for a descriptor without alternatives',
)
const Index = int('index in the branch; 0 for a script that a descriptor without a wildcard names')
const WalletType = oneOf(
  [...KEY_TYPES, 'descriptor'],
  'type of the scripts that an extended key derives; `descriptor` if a descriptor names them',
)
const Unconfirmed = Type.Object(
  { balance_change: SignedAmount, tx_count: int('unconfirmed transactions') },
  { description: 'changes by unconfirmed transactions' },
)
const TOTALS = {
  balance: Amount,
  total_received: Amount,
  total_sent: Amount,
}

export const UnusedAddress = Type.Object({
  index: Index,
  address: orNull(Address),
  script_pub_key: Hex,
})

export const WalletBranch = Type.Object({
  type: WalletType,
  branch: Branch,
  is_ranged: flag('false if the branch has one script'),
  derived_count: int('scripts that were derived and looked up'),
  used_count: int('scripts with transactions, confirmed or not'),
  last_used_index: orNull(int('index of the last script with transactions; null if there is none')),
  next_unused: Type.Union([UnusedAddress, Type.Null()], {
    description:
      'the first script behind all that are used; null if there is none, or if it was not derived because there are too many',
  }),
})
export type WalletBranch = Static<typeof WalletBranch>

export const Wallet = Type.Object({
  kind: oneOf(['extended_key', 'descriptor'], 'what the request names'),
  gap_limit: int('unused scripts in a row after which a branch ends'),
  is_complete: flag('false if branches end before that, because too many scripts would have to be derived'),
  ...TOTALS,
  unconfirmed: Unconfirmed,
  tx_count: orNull(int('confirmed transactions, each once; null if there are too many to count')),
  used_count: int('scripts with transactions, confirmed or not'),
  unspent_count: int('confirmed outputs that are unspent'),
  branches: list(
    WalletBranch,
    'of an extended key those of the types of scripts with transactions; of the first type if there are none',
  ),
})
export type Wallet = Static<typeof Wallet>

export const WalletAddress = Type.Object({
  type: WalletType,
  branch: Branch,
  index: Index,
  address: orNull(Address),
  script_pub_key: Hex,
  is_used: flag('whether it has transactions, confirmed or not'),
  tx_count: int('confirmed transactions'),
  ...TOTALS,
  unconfirmed: Unconfirmed,
})
export type WalletAddress = Static<typeof WalletAddress>

export const WalletTransaction = Type.Object({
  txid: Hash,
  block_height: orNull(MinedAt),
  tx_index: orNull(int('index in the block; null while unconfirmed')),
  value_change: SignedAmount,
  timestamp: Time,
})
export type WalletTransaction = Static<typeof WalletTransaction>

export const WalletUtxo = Type.Object({
  txid: Hash,
  vout: int('index among the outputs'),
  block_height: orNull(MinedAt),
  value: Amount,
  is_coinbase: flag('whether a coinbase created it'),
  type: WalletType,
  branch: Branch,
  index: Index,
  address: orNull(text('address of its script; null if it has none')),
})
export type WalletUtxo = Static<typeof WalletUtxo>
