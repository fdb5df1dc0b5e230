import type { ShapeName } from '../../core/reads/shape-names.js'

/** The fields of an answer, as in REST. */
export type Fields = Readonly<Record<string, unknown>>

/** A field that leads from an object to the answer of a read. The field has the other arguments of the read. */
export interface Link {
  readonly about: string
  /** The name of the read. */
  readonly read: string
  /** The argument of the read that the link sets. */
  readonly argument: string
  /** Returns its value; null or undefined if there is nothing to read: the field is then null. */
  readonly value: (object: Fields) => unknown
  /** Selects an item of a list of the answer, by its index. */
  readonly item?: { readonly list: string; readonly at: (object: Fields) => unknown }
}

/** Returns a link that sets the argument to a field of the object. */
const to = (about: string, read: string, argument: string, field: string): Link => ({
  about,
  read,
  argument,
  value: (object) => object[field],
})

const transaction = to('The transaction.', 'transaction', 'txid', 'txid')
const block = to('Its block of the chain; null while unconfirmed.', 'block', 'heightOrHash', 'block_height')
const summary = (field = 'address') => to('The totals of the address.', 'address', 'address', field)
/** Returns a link to another read of a script: by its address, or by its script hash if it has none. */
const ofScript = (about: string, read: string): Link => ({
  about,
  read,
  argument: 'address',
  value: ({ address, scripthash }) => address ?? scripthash,
})

const GENESIS_PREVIOUS = '0'.repeat(64)

/** The links of a result of a search. */
const FOUND = {
  block: matchLink('block', 'heightOrHash', 'block'),
  transaction: matchLink('transaction', 'txid', 'transaction'),
  address: matchLink('address', 'address', 'address', 'script'),
}

/** The links of each shape. A new one needs no other code: types, costs and documentation follow from it. */
export const LINKS: Partial<Readonly<Record<ShapeName, Readonly<Record<string, Link>>>>> = {
  Block: {
    transactions: to('Its transactions, in their order.', 'blockTransactions', 'heightOrHash', 'hash'),
    previous: {
      about: 'The block before it; null for the first one.',
      read: 'block',
      argument: 'heightOrHash',
      value: ({ prev_hash }) => (prev_hash === GENESIS_PREVIOUS ? undefined : prev_hash),
    },
    next: {
      about:
        'The block after it on the chain; null for the newest one, and for one that is not on the chain.',
      read: 'block',
      argument: 'heightOrHash',
      value: ({ canonical, height }) => (canonical === true ? Number(height) + 1 : undefined),
    },
    miner: summary('miner_address'),
  },
  Transaction: {
    block: to('Its block; null while unconfirmed.', 'block', 'heightOrHash', 'block_hash'),
    outspends: to('What spends its outputs, confirmed or not.', 'transactionOutspends', 'txid', 'txid'),
    op_returns: to('Its OP_RETURN outputs; null if it has none.', 'transactionOpReturns', 'txid', 'txid'),
  },
  Input: {
    transaction,
    previous_transaction: to(
      'The transaction whose output it spends; null for a coinbase.',
      'transaction',
      'txid',
      'prev_txid',
    ),
    previous_output: {
      ...to('The output that it spends; null for a coinbase.', 'transaction', 'txid', 'prev_txid'),
      item: { list: 'outputs', at: ({ prev_vout }) => prev_vout },
    },
    address_summary: summary(),
  },
  Output: {
    transaction,
    spending_transaction: to(
      'The confirmed transaction that spends it; null if there is none.',
      'transaction',
      'txid',
      'spent_txid',
    ),
    spending_input: {
      ...to(
        'The confirmed input that spends it; null if there is none.',
        'transaction',
        'txid',
        'spent_txid',
      ),
      item: { list: 'inputs', at: ({ spent_vin }) => spent_vin },
    },
  },
  OutputAddress: { address_summary: summary() },
  AddressSummary: {
    transactions: ofScript('Its history.', 'addressTransactions'),
    utxos: ofScript('Its confirmed unspent outputs.', 'addressUtxos'),
    label: ofScript('Its label, if there is one.', 'label'),
    balance_history: ofScript('Its balance by day.', 'balanceHistory'),
  },
  AddressTransaction: { transaction, block },
  TransactionStatus: { transaction, block },
  Outspend: {
    spending_transaction: to(
      'The transaction that spends it; null while unspent.',
      'transaction',
      'txid',
      'spent_txid',
    ),
  },
  BlockFees: { block: to('Its block.', 'block', 'heightOrHash', 'height') },
  BranchBlock: { block: to('The block, replaced or not.', 'block', 'heightOrHash', 'hash') },
  Utxo: {
    transaction,
    block,
    output: {
      ...to('The output as part of its transaction.', 'transaction', 'txid', 'txid'),
      item: { list: 'outputs', at: ({ vout }) => vout },
    },
  },
  MempoolTransaction: { transaction },
  WhaleAlert: { transaction, block },
  WhaleParty: { address_summary: summary() },
  RichListItem: { address_summary: summary() },
  AddressLabel: { address_summary: summary() },
  OpReturn: { transaction, block },
  DifficultyItem: { block: to('Its block.', 'block', 'heightOrHash', 'height') },
  SearchResult: FOUND,
  PrefixMatch: FOUND,
}

/** Returns a link to what was found, if it is of one of some types. */
function matchLink(read: string, argument: string, ...types: readonly string[]): Link {
  return {
    about: `What was found, if it is of type ${types.join(' or ')}.`,
    read,
    argument,
    value: ({ type, value }) => (types.includes(String(type)) ? value : undefined),
  }
}

/** Reads whose answers come from the explorer's memory: their rows cost nothing. */
export const FROM_MEMORY: ReadonlySet<string> = new Set([
  'dailyStats',
  'dilithiumHistory',
  'labels',
  'mempoolBlocks',
  'mempoolTransactions',
  'mempoolTxids',
  'miningDifficulty',
  'miningHashrate',
  'miningRetarget',
])

/** Reads of transactions, of which only the selected parts are read. */
export const HAS_DETAIL: ReadonlySet<string> = new Set([
  'blockTransactions',
  'recentTransactions',
  'transaction',
])

/** Rows that a read costs in addition to the rows of its answer: it shares its queries with no other read. */
export const FURTHER_ROWS: Readonly<Record<string, number>> = {
  addressUtxos: 100,
  searchPrefix: 100,
  balanceHistory: 100,
  transactionMerkleProof: 100,
  wallet: 1_000,
  walletAddresses: 1_000,
  walletTransactions: 1_000,
  walletUtxos: 1_000,
}
