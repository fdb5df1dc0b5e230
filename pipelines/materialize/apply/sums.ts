import type { BlockRow } from '../../tables/chain-tables.js'

const COLUMNS = [
  ...(['sum_txs', 'sum_dilithium_txs', 'supply', 'utxo_count', 'addresses', 'funded_addresses'] as const),
  ...(['dilithium_addresses', 'dilithium_funded_addresses', 'sum_op_returns'] as const),
]

/** The fold of the chain up to and with a block: the cumulative columns of its row. */
export type Sums = Pick<BlockRow, (typeof COLUMNS)[number]>

export const NO_SUMS = Object.fromEntries(COLUMNS.map((name) => [name, 0n])) as Sums
