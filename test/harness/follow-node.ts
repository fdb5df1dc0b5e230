import type { NaiveChain } from './naive-chain.js'
import type { NodeBlock } from './node-json.js'

/** A node that answers RPC. */
export interface RpcNode {
  readonly url: string
}

/** Calls the RPC of a simulated node. @returns its result. */
export async function callNode<T>(node: RpcNode, method: string, ...params: readonly unknown[]): Promise<T> {
  // fetch takes no credentials in a URL, and a simulated node needs none.
  const response = await fetch(node.url.replace('simnode:simnode@', ''), {
    method: 'POST',
    body: JSON.stringify({ id: 1, method, params }),
  })
  return ((await response.json()) as { result: T }).result
}

/** Computes the state of the node's chain from its blocks, through reorganisations. */
export async function follow(chain: NaiveChain, node: RpcNode): Promise<void> {
  const hashAt = (height: number): Promise<string | null> => callNode(node, 'getblockhash', height)
  while (chain.tip !== undefined && (await hashAt(chain.tip.height)) !== chain.tip.hash) chain.pop()
  for (let height = (chain.tip?.height ?? -1) + 1; ; height++) {
    const hash = await hashAt(height)
    if (hash === null) return
    chain.push(await callNode<NodeBlock>(node, 'getblock', hash, 3))
  }
}
