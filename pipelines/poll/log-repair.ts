import type { EventLog } from '../log/port.js'
import type { NodeClient } from '../node/client.js'
import { isRpcError, RPC_INVALID_PARAMETER } from '../node/errors.js'
import type { NodeChainInfo } from '../node/replies.js'
import { findConnected, type Link } from './chain-log.js'
import type { Identity, Repair } from './chain-writer.js'
import type { DamageReport } from './damage-reports.js'
import { LogLostError, PrunedNodeError, UnsteadyNodeError, WrongChainError } from './errors.js'
import { findFork } from './fork.js'
import { readLogEnd } from './log-end.js'
import { OwnChain } from './own-chain.js'

interface Sources {
  readonly log: EventLog
  readonly node: NodeClient
  readonly signal: AbortSignal
}

/**
 * Returns where a new epoch has to go on so that what was reported is repaired: at the highest block that log, index and node
 * have in common.
 * @throws WrongChainError where the node or the log is of another chain than the index; PrunedNodeError; UnsteadyNodeError where
 * the node is not as far as the index.
 */
export async function repairOf(
  report: DamageReport,
  identity: Identity,
  info: NodeChainInfo,
  sources: Sources,
): Promise<Repair> {
  await refuseForeign(report, identity, info, sources)
  const common = Math.min(await highestOnNode(report, info, sources), report.neededAbove ?? Infinity)
  const link = await linkInLog(report, common, info, sources)
  const next = (link?.height ?? -1) + 1
  if (info.pruneheight !== undefined && info.pruneheight > next && next <= info.blocks)
    throw new PrunedNodeError(sources.node.address, next)
  return {
    link,
    settledWork: report.work,
    // Only where nothing has to come before the published state is there again.
    settled: report.work === (link?.work ?? ''),
    epoch: report.epoch,
    position: report.headPosition,
    damagedPosition: report.position,
  }
}

/** Block 0 and the final block of the index must be on the node's best chain. */
async function refuseForeign(
  { genesisHash, chain, firstHeight }: DamageReport,
  identity: Identity,
  info: NodeChainInfo,
  { node, signal }: Sources,
): Promise<void> {
  const [final] = chain
  if (final === undefined) return
  const advice =
    'nothing is repaired, so that neither overwrites the other; set NODE_RPC_URL to a node of the same chain, or LOG_URL and ' +
    'CLICKHOUSE_DATABASE (or DATA_DIR) to those of this chain'
  if (genesisHash !== identity.genesisHash)
    throw new WrongChainError(
      `the index holds a chain with block 0 ${genesisHash}, the node at ${node.address} follows ${identity.chain} with block 0 ${identity.genesisHash}: ${advice}`,
    )
  if (info.blocks < firstHeight)
    throw new UnsteadyNodeError(
      `the log is damaged, and the node at ${node.address} is at ${String(info.blocks)}: the index waits for it to reach the final block ${String(firstHeight)}`,
    )
  const theirs = await node.blockHash(firstHeight, signal)
  if (theirs !== final)
    throw new WrongChainError(
      `the index holds final block ${String(firstHeight)} ${final}, the node at ${node.address} has ${theirs} there: ${advice}`,
    )
}

/** Returns the height of the highest block of a report that is on the node's best chain, -1 for none. */
async function highestOnNode(
  { chain, firstHeight }: DamageReport,
  info: NodeChainInfo,
  sources: Sources,
): Promise<number> {
  const tip = firstHeight + chain.length - 1
  if (chain.length === 0) return -1
  const own = (height: number): Promise<string> =>
    height < firstHeight
      ? hashOnNode(height, info, sources)
      : Promise.resolve(chain[height - firstHeight] ?? '')
  return forkWithNode(tip, own, info, sources)
}

/** Returns the event's block in the log, undefined where the chain has to be written again from block 0. */
async function linkInLog(
  report: DamageReport,
  common: number,
  info: NodeChainInfo,
  sources: Sources,
): Promise<Link | undefined> {
  if (common < 0) return undefined
  const { log } = sources
  try {
    if (report.goodPosition >= 0) {
      const hash = report.chain[common - report.firstHeight] ?? ''
      return await findConnected(log, hash, report.goodPosition)
    }
  } catch (error) {
    if (!(error instanceof LogLostError)) throw error
  }
  try {
    const own = new OwnChain(log, (await readLogEnd(log)).tip)
    const fork = await forkWithNode(own.height, async (height) => (await own.at(height)).hash, info, sources)
    refuseForeignLog(report, own, fork, sources)
    const height = Math.min(fork, common)
    return height < 0 ? undefined : await own.at(height)
  } catch (error) {
    if (!(error instanceof LogLostError)) throw error
    return undefined
  }
}

/** A log that has left the node's chain below what counts as final is not that of the index. */
function refuseForeignLog({ chain }: DamageReport, own: OwnChain, fork: number, { node }: Sources): void {
  if (own.height - fork <= Math.max(1, chain.length)) return
  throw new WrongChainError(
    `the log holds a chain up to block ${String(own.height)} that has only blocks up to ${String(fork)} in common with the index and the node at ${node.address}: ` +
      'set LOG_URL (or DATA_DIR) to the log of this chain; if there is none, to a new one',
  )
}

function forkWithNode(
  ownTip: number,
  ownHash: (height: number) => Promise<string>,
  info: NodeChainInfo,
  sources: Sources,
): Promise<number> {
  const nodeHash = async (height: number): Promise<string | undefined> => {
    try {
      return await hashOnNode(height, info, sources)
    } catch (error) {
      if (isRpcError(error, RPC_INVALID_PARAMETER)) return undefined
      throw error
    }
  }
  return findFork({ ownTip, nodeTip: info.blocks, ownHash, nodeHash })
}

async function hashOnNode(height: number, info: NodeChainInfo, { node, signal }: Sources): Promise<string> {
  return height === info.blocks ? info.bestblockhash : node.blockHash(height, signal)
}
