import { Type } from '@sinclair/typebox'
import { feeEstimatesOf } from '../../core/reads/fees/estimates-of-node.js'
import { declareRead } from '../../core/reads/read.js'

/** The numbers of blocks that estimates are for. */
const TARGETS = [...Array.from({ length: 25 }, (_, index) => index + 1), 144, 504, 1_008]

/** Fee rates in base units per virtual byte by the number of blocks within which a transaction is expected to be confirmed. */
export const feeEstimates = declareRead({
  name: 'esploraFeeEstimates',
  path: '/fee-estimates',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  async resolve(context) {
    const rates = await feeEstimatesOf(context, TARGETS)
    return Object.fromEntries(
      TARGETS.flatMap((blocks, index) => {
        const rate = rates[index]
        return rate === undefined ? [] : [[String(blocks), rate]]
      }),
    )
  },
})
