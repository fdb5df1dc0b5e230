import { feeRate, feeRateUp, MIN_RELAY_FEE_RATE } from '../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import type { MempoolView } from '../../mempool/mempool-view.js'
import { projectBlocks, type ProjectedBlock, type ProjectedPackage } from '../../mempool/projection.js'
import { limit } from '../arguments.js'
import { blockFees, type BlockFees } from '../chain/fee-history.js'
import { declareRead } from '../read.js'
import { listed, ProjectedBlock as ProjectedBlockShape, RecommendedFees } from '../shapes.js'

/** The size that a projected block leaves for header and coinbase, in virtual bytes. */
const RESERVED_VSIZE = 1_000
const MAX_BLOCKS = 30
/** The numbers of blocks for which a fee rate is recommended. */
const TARGETS = [1, 3, 6, 12, MAX_BLOCKS] as const
/** The newest blocks from which congestion is derived. */
const RECENT_BLOCKS = 12
/** The part of the maximum weight from which a block counts as full. */
const FULL = 0.95

/** The projected blocks of mempools that answers still use. */
const projections = new WeakMap<MempoolView, readonly ProjectedBlock[]>()

/** Returns the first blocks that a mempool fills, the next one first, and one more. */
function projectedBlocks(mempool: MempoolView, network: Network): readonly ProjectedBlock[] {
  const known = projections.get(mempool)
  if (known !== undefined) return known
  const maxWeight = network.maxBlockWeight - RESERVED_VSIZE * network.witnessScale
  const made = projectBlocks(mempool.values(), maxWeight, MAX_BLOCKS + 1)
  projections.set(mempool, made)
  return made
}

export const mempoolBlocks = declareRead({
  name: 'mempoolBlocks',
  about: 'The blocks that miners would build from the mempool now, the next one first.',
  path: '/mempool/blocks',
  fresh: 'mempool',
  args: { limit: limit(8, MAX_BLOCKS) },
  answer: listed(ProjectedBlockShape),
  resolve({ chain: { network }, mempool }, { limit }) {
    if (network === undefined) return { items: [], limit }
    const blocks = projectedBlocks(mempool, network).slice(0, limit)
    const items = blocks.map(({ txCount, weight, vsize, fees, packages }) => {
      const rate = (at: ProjectedPackage | undefined): string => feeRate(at?.fee ?? 0n, at?.vsize ?? 1)
      return {
        ...{ txCount, totalVsize: vsize, totalWeight: weight, totalFees: fees.toString() },
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
  async resolve({ chain, tables, mempool }) {
    const { network, height } = chain
    const projected = network === undefined ? [] : projectedBlocks(mempool, network)
    const recent =
      network === undefined ? [] : await blockFees({ chain, tables }, height - RECENT_BLOCKS + 1, height)
    const congested = network === undefined ? undefined : congestionOf(recent, network)
    const items = recommendations(projected, congested).map(({ blocks, fee, vsize }) => {
      return { blocks, feeRate: feeRateUp(fee, vsize) }
    })
    return {
      minimumFeeRate: feeRateUp(MINIMUM.fee, MINIMUM.vsize),
      recentFeeRate: congested === undefined ? null : feeRateUp(congested.fee, congested.vsize),
      items,
    }
  },
})

const MINIMUM: ProjectedPackage = { fee: BigInt(MIN_RELAY_FEE_RATE), vsize: 1 }

/**
 * Returns the lowest average fee rate of the full ones among the newest blocks, if at least half of these are full: then more
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
 * transactions follow these; otherwise the minimum. It is never below the minimum, and never below that of recent congestion.
 */
export function recommendations(
  projected: readonly ProjectedBlock[],
  congested: ProjectedPackage | undefined,
): { readonly blocks: number; readonly fee: bigint; readonly vsize: number }[] {
  const floor = congested !== undefined && isLower(MINIMUM, congested) ? congested : MINIMUM
  return TARGETS.map((blocks) => {
    const lowest = projected
      .slice(0, blocks)
      .map(({ packages }) => packages[0] ?? MINIMUM)
      .reduce((one, other) => (isLower(other, one) ? other : one), projected[0]?.packages[0] ?? MINIMUM)
    const needed = projected.length > blocks ? lowest : MINIMUM
    return { blocks, ...(isLower(needed, floor) ? floor : needed) }
  })
}

const isLower = (one: ProjectedPackage, other: ProjectedPackage): boolean =>
  one.fee * BigInt(other.vsize) < other.fee * BigInt(one.vsize)
