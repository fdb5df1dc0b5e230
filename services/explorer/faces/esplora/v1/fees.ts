import { Type } from '@sinclair/typebox'
import type { ProjectedBlock, ProjectedPackage } from '../../../../../pipelines/mempool/projection.js'
import { projectedBlocks } from '../../../core/reads/fees/basis.js'
import { recommendedOf } from '../../../core/reads/fees/fees.js'
import { declareRead, networkIn, type ReadContext } from '../../../core/reads/read.js'

/** The numbers of blocks for which the fees of mempool.space's API are meant, which it names by their times on Bitcoin. */
const TARGETS = { fastestFee: 1, halfHourFee: 3, hourFee: 6, economyFee: 30 } as const
/** The number of projected blocks. */
export const MEMPOOL_BLOCKS = 8
/** The fractions of the virtual size of a block, by fee rate, at which its range of fees is given. */
const FRACTIONS = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]

/** Returns the recommended fee rates, in base units per virtual byte. @param round of each. */
export async function feesOf(
  context: ReadContext,
  round: (rate: number) => number,
): Promise<Record<string, number>> {
  // Before the first block there is nothing to recommend.
  networkIn(context)
  const { items, minimumFeeRate } = await recommendedOf(context)
  const rates = new Map(items.map(({ blocks, feeRate }) => [blocks, Number(feeRate)]))
  const minimum = Number(minimumFeeRate)
  const targets = Object.entries(TARGETS).map(([name, blocks]) => [name, round(rates.get(blocks) ?? minimum)])
  return { ...(Object.fromEntries(targets) as Record<string, number>), minimumFee: round(minimum) }
}

export const wholeFees = declareRead({
  name: 'mempoolSpaceFees',
  path: '/v1/fees/recommended',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => feesOf(context, Math.ceil),
})

export const preciseFees = declareRead({
  name: 'mempoolSpacePreciseFees',
  path: '/v1/fees/precise',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => feesOf(context, (rate) => rate),
})

const rateOf = ({ fee, vsize }: ProjectedPackage): number => Number(fee) / vsize

/** Returns the fee rate of the package that is at a fraction of the virtual size of a block. */
function rateAt({ packages, vsize }: ProjectedBlock, fraction: number): number {
  let sum = 0
  const at = packages.find((each) => (sum += each.vsize) >= fraction * vsize) ?? packages.at(-1)
  return at === undefined ? 0 : rateOf(at)
}

export const feesOfBlocks = declareRead({
  name: 'mempoolSpaceBlocks',
  path: '/v1/fees/mempool-blocks',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  async resolve(context) {
    const blocks = await projectedBlocks(context, networkIn(context))
    return blocks.slice(0, MEMPOOL_BLOCKS).map(feesOfBlock)
  },
})

/** Returns the sizes and fees of a projected block. */
export const feesOfBlock = (block: ProjectedBlock) => ({
  blockSize: block.txs.reduce((sum, { size }) => sum + size, 0),
  blockVSize: block.vsize,
  nTx: block.txCount,
  totalFees: Number(block.fees),
  medianFee: rateAt(block, 0.5),
  feeRange: FRACTIONS.map((fraction) => rateAt(block, fraction)),
})
