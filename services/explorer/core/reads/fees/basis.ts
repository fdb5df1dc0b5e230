import { ASSUMED_MINIMUM } from '../../../../../pipelines/chain/feerate.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import type { ProjectedBlock, ProjectedPackage } from '../../../../../pipelines/mempool/projection.js'
import type { Projected } from '../../state/projections.js'
import type { RelayFees } from '../../state/state.js'
import type { FeeMode, ReadContext } from '../read.js'

type Sources = Pick<ReadContext, 'chain' | 'mempool' | 'projections' | 'validity'>

/** Returns the projection of the mempool, and records how long it is valid. */
export async function projectionOf(
  { chain, mempool, projections, validity }: Sources,
  network: Network,
): Promise<Projected> {
  const projected = await projections.of(mempool, chain.view, network)
  if (projected.untilMs !== undefined) validity.until(projected.untilMs)
  return projected
}

/** Returns the projected blocks, and records how long they are valid. */
export const projectedBlocks = async (
  sources: Sources,
  network: Network,
): Promise<readonly ProjectedBlock[]> => (await projectionOf(sources, network)).blocks

/** The size that the fee rates of nodes are for. */
export const NODE_VSIZE = 1_000

/** Returns the fee rate that a new transaction must pay to enter the node's mempool. */
export function minimumOf(fees: RelayFees | undefined): ProjectedPackage {
  if (fees === undefined) return ASSUMED_MINIMUM
  const { mempoolMin, minRelay = 0n } = fees
  return { fee: mempoolMin > minRelay ? mempoolMin : minRelay, vsize: NODE_VSIZE }
}

/** The milliseconds after which the node is asked again if it had no estimates. */
const RETRY_MS = 10_000

/** Returns the node's own estimates, once for each block, and records for how long missing ones are missing. */
export async function feeEstimatesOfNode(
  context: ReadContext,
  targets: readonly number[],
  mode?: FeeMode,
): Promise<readonly (number | undefined)[]> {
  const rates = await context.node.feeEstimates(targets, mode)
  if (targets.some((_, index) => rates[index] === undefined)) context.validity.until(Date.now() + RETRY_MS)
  return rates
}
