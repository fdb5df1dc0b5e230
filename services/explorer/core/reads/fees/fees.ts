import type { Static } from '@sinclair/typebox'
import { feeRate, feeRateUp } from '../../../../../pipelines/chain/feerate.js'
import type { ProjectedPackage } from '../../../../../pipelines/mempool/projection.js'
import { MAX_PROJECTED_BLOCKS } from '../../state/projections.js'
import { limit } from '../arguments.js'
import { declareRead, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { ProjectedBlock as ProjectedBlockShape, RecommendedFees } from '../shapes.js'
import { minimumOf, NODE_VSIZE, projectedBlocks } from './basis.js'
import { CHANCES } from './forecast-shapes.js'
import { forecastOf, rateFor } from './forecasts.js'

/** The numbers of blocks for which a fee rate is recommended. */
const TARGETS = [1, 3, 6, 12, MAX_PROJECTED_BLOCKS] as const

export const mempoolBlocks = declareRead({
  name: 'mempoolBlocks',
  about: 'The blocks that miners would build from the mempool now, the next one first.',
  path: '/mempool/blocks',
  fresh: 'mempool',
  args: { limit: limit(8, MAX_PROJECTED_BLOCKS) },
  answer: listed(ProjectedBlockShape),
  async resolve(context, { limit }) {
    const { network } = context.chain
    if (network === undefined) return { items: [], limit }
    const blocks = (await projectedBlocks(context, network)).slice(0, limit)
    const items = blocks.map(({ txCount, weight, vsize, fees, packages }) => {
      const rate = (at: ProjectedPackage | undefined): string => feeRate(at?.fee ?? 0n, at?.vsize ?? 1)
      return {
        txCount,
        totalVsize: vsize,
        totalWeight: weight,
        totalFees: fees.toString(),
        minFeeRate: rate(packages[0]),
        medianFeeRate: rate(medianOf(packages, vsize)),
        maxFeeRate: rate(packages.at(-1)),
      }
    })
    return { items, limit }
  },
})

/** Returns the package in the middle of a block. @param packages by fee rate. */
function medianOf(packages: readonly ProjectedPackage[], vsize: number): ProjectedPackage | undefined {
  let sum = 0
  return packages.find((each) => (sum += each.vsize) * 2 >= vsize)
}

export const recommendedFees = declareRead({
  name: 'recommendedFees',
  about: 'Fee rates at which a transaction is expected to be confirmed within some numbers of blocks.',
  path: '/fees/recommended',
  fresh: 'mempool',
  args: {},
  answer: RecommendedFees,
  resolve: (context) => recommendedOf(context),
})

/** Returns the fee rates at which transactions are expected to be confirmed. */
export async function recommendedOf(context: ReadContext): Promise<Static<typeof RecommendedFees>> {
  const { network } = context.chain
  const { relayFees } = context
  const minimum = minimumOf(relayFees)
  const minimumFeeRate = feeRateUp(minimum.fee, minimum.vsize)
  const forecast = network === undefined ? undefined : await forecastOf(context, network)
  return {
    minimumFeeRate,
    relayFeeRate: perVbyte(relayFees?.minRelay),
    incrementalFeeRate: perVbyte(relayFees?.incremental),
    items: TARGETS.map((blocks) => {
      const rate =
        forecast && rateFor(forecast, (confirmation) => confirmation.blocks <= blocks, CHANCES.likely)
      return { blocks, feeRate: rate ?? minimumFeeRate }
    }),
  }
}

const perVbyte = (fee: bigint | undefined): string | null =>
  fee === undefined ? null : feeRateUp(fee, NODE_VSIZE)
