import type { BlockId } from '../../chain/block.js'
import type { NodeClient } from '../../node/client.js'

/** Hashes by height of two chains that may share a beginning. */
export interface TwoChains {
  /** Height of the own tip, -1 for an empty chain. */
  readonly ownTip: number
  readonly nodeTip: number
  ownHash(height: number): Promise<string>
  /** Returns undefined above the node's tip, which may become lower meanwhile. */
  nodeHash(height: number): Promise<string | undefined>
}

/**
 * Returns the height of the last block that both chains share, -1 if they share none. Steps back by 1, 2, 4, …, then bisects: a
 * reorganisation of one block takes two comparisons, one of 400 blocks eighteen.
 */
export async function findFork(chains: TwoChains): Promise<number> {
  const same = async (height: number): Promise<boolean> =>
    (await chains.nodeHash(height)) === (await chains.ownHash(height))
  let different = Math.min(chains.ownTip, chains.nodeTip) + 1
  let shared = different
  for (let step = 1; ; step *= 2) {
    shared = Math.max(-1, shared - step)
    if (shared === -1 || (await same(shared))) break
    different = shared
  }
  while (different - shared > 1) {
    const middle = Math.floor((shared + different) / 2)
    if (await same(middle)) shared = middle
    else different = middle
  }
  return shared
}

/**
 * Returns the height of the last block that a chain shares with the node's, -1 if they share none.
 * @param own the height of the chain's tip, and its hashes.
 * @param tip the node's tip as the node reported it.
 * @throws errors of the node's client.
 */
export function forkWithNode(
  own: { readonly height: number; readonly ownHash: TwoChains['ownHash'] },
  tip: BlockId,
  node: NodeClient,
  signal: AbortSignal,
): Promise<number> {
  const { height: ownTip, ownHash } = own
  const nodeHash = async (height: number): Promise<string | undefined> =>
    height === tip.height ? tip.hash : node.hashAt(height, signal)
  return findFork({ ownTip, nodeTip: tip.height, ownHash, nodeHash })
}
