/** The state of a simulated node, as far as the suites need it. */
export interface NodeState {
  readonly height: number
  readonly hash: string
  /** The txids of the mempool. */
  readonly pool: readonly string[]
}

/** Calls a control route of a simulated node. @returns its state afterwards. */
export async function controlNode(
  nodeUrl: string,
  path: string,
  method: 'GET' | 'POST' = 'POST',
): Promise<NodeState> {
  const answer = await fetch(`http://${new URL(nodeUrl).host}/control/${path}`, { method })
  if (!answer.ok) throw new Error(`the node answered ${path} with ${String(answer.status)}`)
  return (await answer.json()) as NodeState
}
