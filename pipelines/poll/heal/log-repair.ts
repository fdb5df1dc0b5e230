import type { BlockId } from '../../chain/block.js'
import { hexOf } from '../../chain/hash.js'
import type { Network } from '../../chain/networks.js'
import { WrongChainError } from '../../errors.js'
import type { EventLog } from '../../log/port.js'
import type { NodeClient } from '../../node/client.js'
import type { Identity } from '../../node/recognition.js'
import type { NodeChainInfo } from '../../node/replies.js'
import { findConnected, type Link } from '../chain/chain-log.js'
import type { Repair } from '../chain/chain-writer.js'
import { type DamageReport, newestHead } from './damage-reports.js'
import { LogLostError, PrunedNodeError, UnsteadyNodeError } from '../errors.js'
import { forkWithNode } from '../chain/fork.js'
import { readLogEnd } from '../chain/log-end.js'
import { OwnChain } from '../chain/own-chain.js'

/**
 * A repair without a report. The tip that the index publishes is unknown, so that only the state at the node's tip is settled.
 */
const REWRITE: Repair = {
  link: undefined,
  settled: false,
  settledWork: 'ff'.repeat(32),
  epoch: 0,
  position: -1,
  damagedPosition: -1,
}
const ADVICE =
  'not repaired, so that neither overwrites the other; set NODE_RPC_URL to a node of the same chain, or LOG_URL and ' +
  'CLICKHOUSE_DATABASE (or DATA_DIR) to those of this chain'

interface Sources {
  readonly log: EventLog
  readonly node: NodeClient
  readonly signal: AbortSignal
}

/**
 * Returns the block at which a new epoch has to resume to repair reported damage: the highest block that log, index and node share.
 * @throws WrongChainError if the node or the log is of another chain than the index; PrunedNodeError; UnsteadyNodeError if the
 * node is behind the index's final block.
 */
export async function repairOf(
  report: DamageReport,
  identity: Identity,
  info: NodeChainInfo,
  sources: Sources,
): Promise<Repair> {
  await refuseForeign(report, identity, info, sources)
  const common = Math.min(await highestOnNode(report, info, sources), report.neededAbove ?? Infinity)
  const link = await linkInLog(report, common, identity.network, info, sources)
  const next = (link?.height ?? -1) + 1
  if (info.pruneheight !== undefined && info.pruneheight > next && next <= info.blocks)
    throw new PrunedNodeError(sources.node.address, next, info.pruneheight)
  return {
    link,
    settledWork: report.work,
    // The state at the block is settled only if it is the published one.
    settled: report.work === (link?.work ?? ''),
    epoch: report.epoch,
    position: report.headPosition,
    damagedPosition: report.position,
  }
}

/**
 * Returns a repair that writes the chain again from block 0, for a log that lacks blocks that its end builds on, without a
 * report.
 * @throws WrongChainError if the node does not have the lowest block above the final height of the head that was published last;
 * UnsteadyNodeError if the node is below that block.
 */
export async function rewriteOf(info: NodeChainInfo, sources: Sources): Promise<Repair> {
  const head = await newestHead(sources.log)
  if (head === undefined) return REWRITE
  if (head.lowestHash.length > 0) await refuseOther(head.lowestHeight, hexOf(head.lowestHash), info, sources)
  return { ...REWRITE, position: Number(head.position) }
}

/**
 * Checks that block 0 and the final block of the index are on the node's best chain.
 * @throws WrongChainError, UnsteadyNodeError.
 */
async function refuseForeign(
  { genesisHash, chain, firstHeight }: DamageReport,
  identity: Identity,
  info: NodeChainInfo,
  sources: Sources,
): Promise<void> {
  const [final] = chain
  if (final === undefined) return
  if (genesisHash !== identity.genesisHash)
    throw new WrongChainError(
      `the index holds a chain with block 0 ${genesisHash}, the node at ${sources.node.address} follows ${identity.network.name} with block 0 ${identity.genesisHash}: ${ADVICE}`,
    )
  await refuseOther(firstHeight, final, info, sources)
}

/** Checks that a final block of the index is on the node's best chain. @throws WrongChainError, UnsteadyNodeError. */
async function refuseOther(
  height: number,
  hash: string,
  info: NodeChainInfo,
  { node, signal }: Sources,
): Promise<void> {
  const at = String(height)
  if (info.blocks < height)
    throw new UnsteadyNodeError(
      `the log is damaged, and the node at ${node.address} is at ${String(info.blocks)}: waiting until it reaches the index's final block ${at}`,
    )
  const theirs = await hashOnNode(height, info, { node, signal })
  if (theirs !== hash)
    throw new WrongChainError(
      `the index holds final block ${at} ${hash}, the node at ${node.address} has ${theirs} there: ${ADVICE}`,
    )
}

/** Returns the height of the highest reported block that is on the node's best chain, -1 for none. */
async function highestOnNode(
  { chain, firstHeight }: DamageReport,
  info: NodeChainInfo,
  sources: Sources,
): Promise<number> {
  const tip = firstHeight + chain.length - 1
  if (chain.length === 0) return -1
  const ownHash = async (height: number): Promise<string> =>
    height < firstHeight ? hashOnNode(height, info, sources) : (chain[height - firstHeight] ?? '')
  return forkWithNode({ height: tip, ownHash }, tipOf(info), sources.node, sources.signal)
}

/** Finds a reported block in the log; undefined if the chain has to be written again from block 0. */
async function linkInLog(
  report: DamageReport,
  common: number,
  network: Network,
  info: NodeChainInfo,
  sources: Sources,
): Promise<Link | undefined> {
  if (common < 0) return undefined
  const { log, node, signal } = sources
  try {
    if (report.goodPosition >= 0) {
      const hash = report.chain[common - report.firstHeight] ?? ''
      return await findConnected(log, hash, report.goodPosition, network)
    }
  } catch (error) {
    if (!(error instanceof LogLostError)) throw error
  }
  try {
    const own = new OwnChain(log, (await readLogEnd(log, network)).tip, network)
    const ownHash = async (height: number): Promise<string> => (await own.at(height)).hash
    const fork = await forkWithNode({ height: own.height, ownHash }, tipOf(info), node, signal)
    refuseForeignLog(report, own, fork, sources)
    const height = Math.min(fork, common)
    return height < 0 ? undefined : await own.at(height)
  } catch (error) {
    if (!(error instanceof LogLostError)) throw error
    return undefined
  }
}

/** Checks that the log left the node's chain above the final height. @throws WrongChainError for a log of another index. */
function refuseForeignLog({ chain }: DamageReport, own: OwnChain, fork: number, { node }: Sources): void {
  if (own.height - fork <= Math.max(1, chain.length)) return
  throw new WrongChainError(
    `the log holds a chain up to block ${String(own.height)} that has only blocks up to ${String(fork)} in common with the index and the node at ${node.address}: ` +
      'set LOG_URL (or DATA_DIR) to the log of this chain; if there is none, to a new one',
  )
}

const tipOf = ({ blocks, bestblockhash }: NodeChainInfo): BlockId => ({ height: blocks, hash: bestblockhash })

async function hashOnNode(
  height: number,
  info: NodeChainInfo,
  { node, signal }: Pick<Sources, 'node' | 'signal'>,
): Promise<string> {
  return height === info.blocks ? info.bestblockhash : node.blockHash(height, signal)
}
