import { type Static, Type } from '@sinclair/typebox'
import {
  ADDED_REASONS,
  FRESH_SECONDS,
  MISSING_REASONS,
} from '../../../../../pipelines/mempool/expected-block.js'
import {
  Amount,
  FeeRate,
  flag,
  Hash,
  Height,
  int,
  Limit,
  list,
  long,
  oneOf,
  orNull,
  OWN_RATE,
  text,
  Time,
} from '../fields.js'

// The shapes of the mempool's history, and of what was expected of blocks. Those of `shapes.ts` include them.

export const MempoolSample = Type.Object({
  timestamp: Type.String({
    description: 'begin of the minute, hour or day, ISO 8601 UTC',
    format: 'date-time',
  }),
  takenAt: Type.String({
    description: 'time of the last event in it: the figures are those after this event, ISO 8601 UTC',
    format: 'date-time',
  }),
  txCount: int('transactions'),
  totalVsize: long('virtual bytes'),
  totalFees: Amount,
  minFeeRate: orNull(
    text('the lowest fee rate that entered the mempool of the node, decimal; null if it is not known'),
  ),
  enteredPerSecond: orNull(
    text(
      'transactions that entered since the sample before, per second, decimal; null if there is no sample of the minute, hour or day before',
    ),
  ),
  vsizes: list(long('virtual bytes'), 'virtual size of the transactions of each band, by effective fee rate'),
})
export type MempoolSample = Static<typeof MempoolSample>

export const MempoolHistory = Type.Object({
  interval: text('minute, hour or day'),
  bands: list(
    FeeRate,
    'the lowest fee rate of each band, lowest first; a band ends where the next one begins, the last one has no end',
  ),
  items: list(MempoolSample, 'oldest first; times in which the mempool was not observed are left out'),
  limit: Limit,
})
export type MempoolHistory = Static<typeof MempoolHistory>

export const BlockSums = Type.Object(
  {
    tx_count: int('transactions, without the coinbase'),
    vsize: int('their virtual bytes'),
    weight: int('their weight units'),
    total_fees: Amount,
  },
  {
    description:
      'sums of the transactions: expected those of the expected block, mined those of the block, matched those of both, missing those of the first alone, added those of the second alone',
  },
)
export type BlockSums = Static<typeof BlockSums>

const MISSING = `${MISSING_REASONS.join(', ')}; conflict: a transaction of the block spends the same output; empty: the block has no transactions; fresh: it was first seen less than ${String(FRESH_SECONDS)} seconds before; no_room: the block was full before its place; a child has the reason of its missing parent`
const ADDED = `${ADDED_REASONS.join(', ')}; unseen: it was not in the mempool; next: it was expected right after the end of the block; low_rate: others that were not in the block pay more`

const difference = <const N extends readonly string[]>(reasons: N, description: string) => ({
  txid: Hash,
  fee: Amount,
  vsize: int('virtual bytes'),
  fee_rate: text(OWN_RATE),
  effective_fee_rate: text(
    'fee rate of the package with which it is mined, base units per virtual byte, decimal',
  ),
  reason: oneOf(reasons, description),
})

export const MissingTransaction = Type.Object(difference(MISSING_REASONS, MISSING))
export const AddedTransaction = Type.Object(difference(ADDED_REASONS, ADDED))

const COMPARISON = {
  hash: Hash,
  height: Height,
  canonical: flag('false for a block that a reorganisation replaced'),
  seen_at: Time,
  observed_seconds_before: Type.String({
    description:
      'seconds between the last observation of the mempool before the block and the block, decimal',
  }),
  expected: BlockSums,
  mined: BlockSums,
  matched: BlockSums,
  missing: BlockSums,
  added: BlockSums,
  match_percent: orNull(
    text('percent of the expected weight that the block contains, decimal; null if nothing was expected'),
  ),
}

export const ExpectedBlock = Type.Object(COMPARISON)
export type ExpectedBlock = Static<typeof ExpectedBlock>

export const ExpectedBlockDetails = Type.Object({
  ...COMPARISON,
  missing_txs: list(
    MissingTransaction,
    'expected, but not in the block, in the order in which they were expected',
  ),
  added_txs: list(AddedTransaction, 'in the block, but not expected, in the order of the block'),
  limit: int('maximum number of transactions of each list'),
})
export type ExpectedBlockDetails = Static<typeof ExpectedBlockDetails>
