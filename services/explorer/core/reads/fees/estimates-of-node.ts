import type { FeeMode, ReadContext } from '../read.js'
import { WrittenAnswer } from '../written-answer.js'
import { feeEstimatesOfNode } from './basis.js'
import { recommendedFees } from './fees.js'

/**
 * Returns fee rates in base units per virtual byte by numbers of blocks: the node's own estimates, and Headwater's where the node has
 * none; undefined where neither has one.
 */
export async function feeEstimatesOf(
  context: ReadContext,
  targets: readonly number[],
  mode?: FeeMode,
): Promise<readonly (number | undefined)[]> {
  const rates = await feeEstimatesOfNode(context, targets, mode)
  if (targets.every((_, index) => rates[index] !== undefined)) return rates
  const own = await ownEstimates(context)
  return targets.map((blocks, index) => rates[index] ?? own(blocks))
}

/** Returns a function for Headwater's estimates: for each target the one for the most blocks that are not more. */
async function ownEstimates(context: ReadContext): Promise<(blocks: number) => number | undefined> {
  const made = await recommendedFees.resolve(context, {})
  const { items } = made instanceof WrittenAnswer ? made.parse() : made
  return (blocks) => {
    const item = items.findLast((each) => each.blocks <= blocks)
    return item && Number(item.feeRate)
  }
}
