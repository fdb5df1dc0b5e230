import type { BlockRow } from '../../tables/chain-tables.js'

/** The fold of the chain up to and with a block: the cumulative columns of its row. */
export type Sums = Pick<
  BlockRow,
  | 'sum_txs'
  | 'sum_dilithium_txs'
  | 'supply'
  | 'utxo_count'
  | 'addresses'
  | 'funded_addresses'
  | 'dilithium_addresses'
  | 'dilithium_funded_addresses'
  | 'sum_op_returns'
>

export const NO_SUMS: Sums = {
  sum_txs: 0n,
  sum_dilithium_txs: 0n,
  supply: 0n,
  utxo_count: 0n,
  addresses: 0n,
  funded_addresses: 0n,
  dilithium_addresses: 0n,
  dilithium_funded_addresses: 0n,
  sum_op_returns: 0n,
}
