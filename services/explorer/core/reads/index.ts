import { addressSummary, addressTransactions, addressUtxos } from './addresses/addresses.js'
import { addressSummaries } from './addresses/summary.js'
import { balanceHistory } from './addresses/balance-history.js'
import { addressExposure } from './addresses/exposure.js'
import { block, blocks, blockTransactions, tip } from './chain/blocks.js'
import { blockStatistics } from './chain/block-statistics.js'
import { label, labels } from './addresses/labels.js'
import { feeHistory } from './chain/fee-history.js'
import { mempoolBlocks, recommendedFees } from './fees/fees.js'
import { confirmationForecast, feeEstimates } from './fees/forecasts.js'
import { reorgs } from './chain/reorgs.js'
import { blockSummary, projectedBlock } from './mempool/block-contents.js'
import { expectedBlock, expectedBlocks } from './mempool/expected-blocks.js'
import { mempoolHistory } from './mempool/history.js'
import { mempoolSummary, mempoolTransactions, mempoolTxids } from './mempool/mempool.js'
import { nodeHealth } from './node.js'
import { miningPool } from './statistics/pools.js'
import {
  miningDifficulty,
  miningHashrate,
  miningPools,
  miningRetarget,
  networkHashrate,
} from './statistics/mining.js'
import { opReturns, transactionOpReturns } from './chain/op-returns.js'
import type { Read } from './read.js'
import { search } from './chain/search.js'
import { searchPrefix } from './chain/search-prefix.js'
import {
  dailyStats,
  dilithium,
  dilithiumHistory,
  richList,
  summary,
  supply,
} from './statistics/statistics.js'
import { exposure, exposureHistory, valueByType, valueHistory } from './statistics/exposure.js'
import {
  transactionHex,
  transactionMerkleProof,
  transactionOutspends,
  transactionStatus,
} from './chain/transaction-details.js'
import { transactionScripts } from './chain/transaction-scripts.js'
import { recentTransactions, transaction } from './chain/transactions.js'
import { mempoolReplacements, replacedTransaction, transactionReplacements } from './mempool/replacements.js'
import { transactionPackage } from './mempool/transaction-package.js'
import { wallet, walletAddresses } from './wallet/wallet.js'
import { walletTransactions, walletUtxos } from './wallet/lists.js'
import { whaleAlerts } from './mempool/whales.js'

/** All reads. A new one is declared in a file of its group and added here; its routes follow from the declaration. */
export const READS: readonly Read[] = [
  blocks,
  tip,
  block,
  blockTransactions,
  blockStatistics,
  blockSummary,
  expectedBlock,
  transaction,
  transactionHex,
  transactionStatus,
  transactionOutspends,
  transactionMerkleProof,
  transactionScripts,
  transactionPackage,
  replacedTransaction,
  transactionReplacements,
  recentTransactions,
  addressSummary,
  addressSummaries,
  addressTransactions,
  addressUtxos,
  addressExposure,
  balanceHistory,
  wallet,
  walletAddresses,
  walletTransactions,
  walletUtxos,
  summary,
  supply,
  richList,
  dailyStats,
  dilithium,
  dilithiumHistory,
  valueByType,
  valueHistory,
  exposure,
  exposureHistory,
  mempoolSummary,
  mempoolTransactions,
  mempoolTxids,
  mempoolReplacements,
  mempoolBlocks,
  expectedBlocks,
  projectedBlock,
  mempoolHistory,
  recommendedFees,
  feeEstimates,
  confirmationForecast,
  feeHistory,
  reorgs,
  miningPools,
  miningPool,
  miningDifficulty,
  miningRetarget,
  miningHashrate,
  networkHashrate,
  search,
  searchPrefix,
  whaleAlerts,
  label,
  labels,
  opReturns,
  transactionOpReturns,
  nodeHealth,
]
