import type { Simnode } from '../../services/simnode/node.js'
import type { NaiveChain } from './naive-chain.js'
import type { NodeBlock } from './node-json.js'

/** Calls the RPC of a simulated node. @returns its result. */
export async function callNode<T>(
  node: Pick<Simnode, 'url'>,
  method: string,
  ...params: readonly unknown[]
): Promise<T> {
  // fetch takes no credentials in a URL, and a simulated node needs none.
  const response = await fetch(node.url.replace('simnode:simnode@', ''), {
    method: 'POST',
    body: JSON.stringify({ id: 1, method, params }),
  })
  return ((await response.json()) as { result: T }).result
}

/** Computes the state of the node's chain from its blocks, through reorganisations. */
export async function follow(chain: NaiveChain, node: Simnode): Promise<void> {
  const { height: best } = node.chain.tip
  while (chain.tip !== undefined && node.chain.at(chain.tip.height)?.hash !== chain.tip.hash) chain.pop()
  for (let height = (chain.tip?.height ?? -1) + 1; height <= best; height++)
    chain.push(await callNode<NodeBlock>(node, 'getblock', node.chain.at(height)!.hash, 3))
}
