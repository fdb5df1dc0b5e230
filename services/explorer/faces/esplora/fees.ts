import { Type } from '@sinclair/typebox'
import { recommendedFees } from '../../core/reads/mempool/fees.js'
import { declareRead, type ReadContext } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'

/** The numbers of blocks that estimates are for. */
const TARGETS = [...Array.from({ length: 25 }, (_, index) => index + 1), 144, 504, 1_008]
/** The milliseconds after which the node is asked again if it had no estimates. */
const RETRY_MS = 10_000

/**
 * Fee rates in base units per virtual byte by the number of blocks within which a transaction is expected to be confirmed: the node's own
 * estimates, once for each block, and Headwater's where the node has none.
 */
export const feeEstimates = declareRead({
  name: 'esploraFeeEstimates',
  path: '/fee-estimates',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  async resolve(context) {
    const rates = await context.node.feeEstimates(TARGETS)
    const isComplete = TARGETS.every((_, index) => rates[index] !== undefined)
    if (!isComplete) context.validity.until(Date.now() + RETRY_MS)
    const own = isComplete ? new Map<number, number>() : await ownEstimates(context)
    return Object.fromEntries(
      TARGETS.flatMap((blocks, index) => {
        const rate = rates[index] ?? own.get(blocks)
        return rate === undefined ? [] : [[String(blocks), rate]]
      }),
    )
  },
})

/** Returns Headwater's estimates: for each target the one for the most blocks that are not more. */
async function ownEstimates(context: ReadContext): Promise<ReadonlyMap<number, number>> {
  const made = await recommendedFees.resolve(context, {})
  const { items } = made instanceof WrittenAnswer ? made.parse() : made
  return new Map(
    TARGETS.flatMap((blocks) => {
      const item = items.findLast((each) => each.blocks <= blocks)
      return item === undefined ? [] : [[blocks, Number(item.feeRate)] as const]
    }),
  )
}
