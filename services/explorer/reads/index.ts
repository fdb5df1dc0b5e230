import { addressSummary, addressTransactions, addressUtxos } from './addresses.js'
import { block, blocks, blockTransactions, tip } from './blocks.js'
import { mempoolSummary, mempoolTransactions } from './mempool.js'
import type { Read } from './read.js'
import { search } from './search.js'
import { summary, supply } from './stats.js'
import { recentTransactions, transaction } from './transactions.js'

/** Every read there is. A new one is declared in a file of its group and named here; its routes follow. */
export const READS: readonly Read[] = [
  blocks,
  tip,
  block,
  blockTransactions,
  transaction,
  recentTransactions,
  addressSummary,
  addressTransactions,
  addressUtxos,
  summary,
  supply,
  mempoolSummary,
  mempoolTransactions,
  search,
]
