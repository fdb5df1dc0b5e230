import { findNetwork, type Network, networkOfNode, NETWORKS } from '../chain/networks.js'
import { WrongChainError } from '../errors.js'
import type { NodeClient } from './client.js'
import { NodeRefusedError, NodeRpcError } from './errors.js'
import type { NodeChainInfo } from './replies.js'

/** The chain of a node. */
export interface Identity {
  readonly network: Network
  readonly genesisHash: string
  /** The script that blocks of a signet satisfy, as hex; undefined on other networks and in old versions. */
  readonly signetChallenge?: string | undefined
}

/**
 * Determines the chain of a node by its block 0.
 * @param named the name of the network in `CHAIN`; undefined for any.
 * @throws WrongChainError if this version does not know the chain, or if `CHAIN` names another one.
 */
export async function identityOf(
  node: NodeClient,
  info: NodeChainInfo,
  named: string | undefined,
  signal?: AbortSignal,
): Promise<Identity> {
  const genesisHash = await node.blockHash(0, signal)
  const signetChallenge = info.signet_challenge
  const network = networkOfNode({ nodeName: info.chain, genesisHash, signetChallenge }, named)
  if (network !== undefined && (named === undefined || findNetwork(named) === network))
    return { network, genesisHash, signetChallenge }
  const who = `the node at ${node.address} (${await versionOf(node, signal)})`
  if (network === undefined) {
    const signet = signetChallenge === undefined ? '' : ` and its signet challenge ${signetChallenge}`
    throw new WrongChainError(
      `${who} follows a chain that is not known: it calls it ${info.chain}, its block 0 is ${genesisHash}${signet}. ` +
        `Known chains: ${[...NETWORKS.keys()].join(', ')}. Correct NODE_RPC_URL; to follow a test network that has started over, or another signet, set CHAIN to its name`,
    )
  }
  throw new WrongChainError(
    `${who} follows chain ${network.name} (block 0 ${genesisHash}), not ${named ?? ''}: correct NODE_RPC_URL or CHAIN`,
  )
}

/** Returns the name and version of a node for messages; it may deny them to this user. */
async function versionOf(node: NodeClient, signal?: AbortSignal): Promise<string> {
  try {
    const { subversion } = await node.networkInfo(signal)
    return subversion ?? 'of unknown version'
  } catch (error) {
    if (error instanceof NodeRpcError || error instanceof NodeRefusedError) return 'of unknown version'
    throw error
  }
}

/**
 * Checks that a node still follows the chain that it was recognised by.
 * @throws WrongChainError if it is another node now.
 */
export async function assertStill(
  { network, genesisHash, signetChallenge }: Identity,
  node: NodeClient,
  info: NodeChainInfo,
  signal: AbortSignal,
): Promise<void> {
  const found = await node.blockHash(0, signal)
  if (
    info.chain === network.nodeName &&
    found === genesisHash &&
    (info.signet_challenge === undefined || info.signet_challenge === signetChallenge)
  )
    return
  throw new WrongChainError(
    `the node at ${node.address} followed chain ${network.name} (block 0 ${genesisHash}), and now one that it calls ${info.chain}, with block 0 ${found}: ` +
      'set NODE_RPC_URL to a node of the same chain, or use another DATA_DIR or LOG_URL',
  )
}
