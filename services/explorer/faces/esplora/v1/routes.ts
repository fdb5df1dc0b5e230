import type { Read } from '../../../core/reads/read.js'
import { validateAddress } from './addresses.js'
import * as blocks from './blocks.js'
import { difficultyAdjustment } from './difficulty.js'
import { feesOfBlocks, preciseFees, wholeFees } from './fees.js'
import * as pools from './pools.js'
import * as replacements from './replacements.js'
import * as scores from './scores.js'
import * as series from './series.js'
import { blockSummary, blockTxSummary } from './summaries.js'
import { cpfp } from './transactions.js'

/** The reads of mempool.space's API whose arguments are in the path. */
export const V1_READS: readonly Read[] = [
  wholeFees,
  preciseFees,
  feesOfBlocks,
  cpfp,
  difficultyAdjustment,
  validateAddress,
  blocks.extendedList,
  blocks.extendedListBelow,
  blocks.extendedBlock,
  blocks.blocksFromHeight,
  blocks.blocksInRange,
  blocks.chainTips,
  blocks.staleBlocks,
  blockSummary,
  blockTxSummary,
  replacements.replacementsOfTx,
  replacements.replacementTrees,
  replacements.fullReplacementTrees,
  replacements.cachedTx,
  pools.poolList,
  pools.poolRanking,
  pools.pool,
  pools.poolBlocks,
  pools.poolBlocksBelow,
  pools.poolHashrate,
  pools.poolsHashrate,
  scores.newestScores,
  scores.scoresBelow,
  scores.score,
  scores.predictions,
  series.hashrates,
  series.difficultyAdjustments,
  series.difficultyAdjustmentsIn,
  series.rewardStats,
  series.feesSeries,
  series.rewardsSeries,
  series.feeRatesSeries,
  series.sizesSeries,
  series.blockAtTime,
]
