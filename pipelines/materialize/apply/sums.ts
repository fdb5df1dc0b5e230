import { BLOCKS } from '../../tables/schema.js'

type BlockColumns = typeof BLOCKS.columns

/** The totals of the chain up to and including a block: the columns of its row that are declared as `sum`. */
export type Sums = {
  readonly [K in keyof BlockColumns as BlockColumns[K] extends 'sum' ? K : never]: bigint
}

/** The totals of a chain without blocks. */
export const NO_SUMS = Object.fromEntries(
  Object.entries(BLOCKS.columns).flatMap(([name, type]) => (type === 'sum' ? [[name, 0n]] : [])),
) as unknown as Sums
