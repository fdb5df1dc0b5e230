import type { FeeMode, ReadContext } from '../read.js'
import { WrittenAnswer } from '../written-answer.js'
import { recommendedFees } from './fees.js'

/** The milliseconds after which the node is asked again if it had no estimates. */
const RETRY_MS = 10_000

/**
 * Returns fee rates in base units per virtual byte by numbers of blocks: the node's own estimates, once for each block, and Headwater's
 * where the node has none; undefined where neither has one.
 */
export async function feeEstimatesOf(
  context: ReadContext,
  targets: readonly number[],
  mode?: FeeMode,
): Promise<readonly (number | undefined)[]> {
  const rates = await context.node.feeEstimates(targets, mode)
  const isComplete = targets.every((_, index) => rates[index] !== undefined)
  if (isComplete) return rates
  context.validity.until(Date.now() + RETRY_MS)
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
