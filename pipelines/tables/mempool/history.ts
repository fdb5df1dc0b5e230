import { table } from '../rowbinary.js'

// The columns of the samples of the mempool and of the expected blocks; `mempool.sql` describes them.

/** The seconds of a step of the samples. */
export const SAMPLE_STEPS = { minute: 60, hour: 3_600, day: 86_400 } as const
export type SampleStep = keyof typeof SAMPLE_STEPS

export const MEMPOOL_SAMPLES = table('mempool_samples', {
  step: 'u32',
  start: 'u32',
  taken_at: 'ms',
  tx_count: 'u32',
  vsize: 'count',
  fees: 'u64',
  min_fee: 'i64',
  entered: 'count',
  bands: 'u64s',
})

export const MEMPOOL_ARRIVALS = table('mempool_arrivals', { start: 'u32', entered: 'u64s', dropped: 'u64s' })

/** The value of `min_fee` if the node's is not known. */
export const NO_MIN_FEE = -1

/** The columns of `expected_blocks` with its sums. */
export const EXPECTED_SUMS = {
  expected_count: 'u32',
  expected_weight: 'u32',
  expected_vsize: 'u32',
  expected_fees: 'u64',
  mined_count: 'u32',
  mined_weight: 'u32',
  mined_vsize: 'u32',
  mined_fees: 'u64',
  matched_count: 'u32',
  matched_weight: 'u32',
  matched_vsize: 'u32',
  matched_fees: 'u64',
} as const

export const EXPECTED_BLOCKS = table('expected_blocks', {
  height: 'u32',
  hash: 'hash',
  seen_at: 'ms',
  observed_at: 'ms',
  ...EXPECTED_SUMS,
})

/** The kinds of rows of `block_differences` by their number: of missing and of added transactions. */
export const DIFFERENCE_KINDS = ['missing', 'added'] as const
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number]

export const BLOCK_DIFFERENCES = table('block_differences', {
  height: 'u32',
  hash: 'hash',
  seen_at: 'ms',
  kind: 'u8',
  item: 'u32',
  txid: 'hash',
  fee: 'u64',
  vsize: 'u32',
  rated_fee: 'u64',
  rated_vsize: 'u32',
  reason: 'text',
})

/** The maximum number of missing and of added transactions of a block with a row each. */
export const MAX_DIFFERENCES = 1_000
