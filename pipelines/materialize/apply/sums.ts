import { BLOCKS } from '../../tables/schema.js'

type BlockColumns = typeof BLOCKS.columns

/** The columns of `blocks` that are declared as `sum` or `sums`. */
type SumColumns = {
  readonly [K in keyof BlockColumns as BlockColumns[K] extends 'sum' | 'sums' ? K : never]: BlockColumns[K]
}

/** The totals of the chain up to and including a block. */
export type Sums = {
  readonly [K in keyof SumColumns]: SumColumns[K] extends 'sum' ? bigint : readonly bigint[]
}

export const SUM_COLUMNS = Object.fromEntries(
  Object.entries(BLOCKS.columns).filter(([, type]) => type === 'sum' || type === 'sums'),
) as unknown as SumColumns

/** The totals of a chain without blocks. */
export const NO_SUMS = Object.fromEntries(
  Object.entries(SUM_COLUMNS).map(([name, type]) => [name, type === 'sum' ? 0n : []]),
) as unknown as Sums
