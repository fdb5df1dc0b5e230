import { addressSummary, addressTransactions, addressUtxos } from './addresses.js'
import { block, blocks, blockTransactions, tip } from './blocks.js'
import { label, labels } from './labels.js'
import { mempoolSummary, mempoolTransactions } from './mempool.js'
import { nodeHealth } from './node.js'
import { miningDifficulty, miningHashrate, miningPools, networkHashrate } from './mining.js'
import { opReturns, transactionOpReturns } from './op-returns.js'
import type { Read } from './read.js'
import { search } from './search.js'
import { dailyStats, dilithium, dilithiumHistory, richList, summary, supply } from './stats.js'
import { recentTransactions, transaction } from './transactions.js'
import { whaleAlerts } from './whales.js'

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
  richList,
  dailyStats,
  dilithium,
  dilithiumHistory,
  mempoolSummary,
  mempoolTransactions,
  miningPools,
  miningDifficulty,
  miningHashrate,
  networkHashrate,
  search,
  whaleAlerts,
  label,
  labels,
  opReturns,
  transactionOpReturns,
  nodeHealth,
]
