import type { Static } from '@sinclair/typebox'
import { ASSUMED_MINIMUM, feeRate, feeRateUp } from '../../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import type { ProjectedBlock, ProjectedPackage } from '../../../../../pipelines/mempool/projection.js'
import { MAX_PROJECTED_BLOCKS } from '../../state/projections.js'
import { limit } from '../arguments.js'
import type { RelayFees } from '../../state/state.js'
import { blockFees, type BlockFees } from '../chain/fee-history.js'
import { declareRead, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { ProjectedBlock as ProjectedBlockShape, RecommendedFees } from '../shapes.js'

/** The numbers of blocks for which a fee rate is recommended. */
const TARGETS = [1, 3, 6, 12, MAX_PROJECTED_BLOCKS] as const
/** The newest blocks from which congestion is derived. */
const RECENT_BLOCKS = 12
/** The part of the maximum weight from which a block counts as full. */
const FULL = 0.95

/** Returns the projected blocks, and records how long they are valid. */
export async function projectedBlocks(
  {
    chain,
    mempool,
    projections,
    validity,
  }: Pick<ReadContext, 'chain' | 'mempool' | 'projections' | 'validity'>,
  network: Network,
): Promise<readonly ProjectedBlock[]> {
  const { blocks, untilMs } = await projections.of(mempool, chain.view, network)
  if (untilMs !== undefined) validity.until(untilMs)
  return blocks
}

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
  const { network, height } = context.chain
  const { relayFees } = context
  const minimum = minimumOf(relayFees)
  const projected = network === undefined ? [] : await projectedBlocks(context, network)
  const recent = network === undefined ? [] : await blockFees(context, height - RECENT_BLOCKS + 1, height)
  const congested = network === undefined ? undefined : congestionOf(recent, network)
  const items = recommendations(projected, congested, minimum).map(({ blocks, fee, vsize }) => {
    return { blocks, feeRate: feeRateUp(fee, vsize) }
  })
  return {
    minimumFeeRate: feeRateUp(minimum.fee, minimum.vsize),
    relayFeeRate: perVbyte(relayFees?.minRelay),
    incrementalFeeRate: perVbyte(relayFees?.incremental),
    recentFeeRate: congested === undefined ? null : feeRateUp(congested.fee, congested.vsize),
    items,
  }
}

/** The size that the fee rates of nodes are for. */
const NODE_VSIZE = 1_000

/** Returns the fee rate that a new transaction must pay to enter the node's mempool. */
export function minimumOf(fees: RelayFees | undefined): ProjectedPackage {
  if (fees === undefined) return ASSUMED_MINIMUM
  const { mempoolMin, minRelay = 0n } = fees
  return { fee: mempoolMin > minRelay ? mempoolMin : minRelay, vsize: NODE_VSIZE }
}

const perVbyte = (fee: bigint | undefined): string | null =>
  fee === undefined ? null : feeRateUp(fee, NODE_VSIZE)

/**
 * Returns the lowest average fee rate of the full blocks among the newest blocks, if at least half of the newest are full: then more
 * transactions wait than the mempool shows just after a block.
 */
export function congestionOf(
  recent: readonly BlockFees[],
  { maxBlockWeight, witnessScale }: Network,
): ProjectedPackage | undefined {
  const full = recent.filter(({ weight }) => weight >= FULL * maxBlockWeight)
  if (full.length === 0 || full.length * 2 < recent.length) return undefined
  return full
    .map(({ totalFees, weight }) => ({ fee: totalFees, vsize: Math.ceil(weight / witnessScale) }))
    .reduce((one, other) => (isLower(other, one) ? other : one))
}

/**
 * Returns the fee rate for each target, as fee and size. It is the lowest fee rate of the projected blocks up to the target, if more
 * transactions follow these; otherwise the minimum. It is never below the minimum, nor below the fee rate of recent congestion.
 */
export function recommendations(
  projected: readonly ProjectedBlock[],
  congested: ProjectedPackage | undefined,
  minimum: ProjectedPackage,
): { readonly blocks: number; readonly fee: bigint; readonly vsize: number }[] {
  const floor = congested !== undefined && isLower(minimum, congested) ? congested : minimum
  return TARGETS.map((blocks) => {
    const lowest = projected
      .slice(0, blocks)
      .map(({ packages }) => packages[0] ?? minimum)
      .reduce((one, other) => (isLower(other, one) ? other : one), projected[0]?.packages[0] ?? minimum)
    const needed = projected.length > blocks ? lowest : minimum
    return { blocks, ...(isLower(needed, floor) ? floor : needed) }
  })
}

const isLower = (one: ProjectedPackage, other: ProjectedPackage): boolean =>
  one.fee * BigInt(other.vsize) < other.fee * BigInt(one.vsize)
