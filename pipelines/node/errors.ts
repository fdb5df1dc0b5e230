/** The node answered, and its answer is an error: asking the same again would give the same. */
export class NodeRpcError extends Error {
  override readonly name = 'NodeRpcError'

  constructor(
    readonly method: string,
    /** As Bitcoin Core numbers them: -5 not found, -8 bad parameter, -32601 unknown method, … */
    readonly code: number,
    message: string,
  ) {
    super(`the node answered ${method} with error ${String(code)}: ${message}`)
  }
}

/** What kept a request from being answered; each may be gone at the next try. */
export type FaultKind = 'unreachable' | 'timeout' | 'busy' | 'invalid'

/** The node gave no answer, or one that cannot be right. Retried by the client itself until its attempts are used up. */
export class NodeFaultError extends Error {
  override readonly name = 'NodeFaultError'

  constructor(
    readonly kind: FaultKind,
    message: string,
    /** How long the node asked to be left alone, milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
  }
}

/** The node does not let us in: to be mended in NODE_RPC_URL or in the node's own settings, not by trying again. */
export class NodeRefusedError extends Error {
  override readonly name = 'NodeRefusedError'

  constructor(address: string, status: number) {
    super(
      `the node at ${address} refused the request (HTTP ${String(status)}): check user and password in NODE_RPC_URL and the node's rpcallowip`,
    )
  }
}

/** Of a block that was pruned, among others. */
export const RPC_MISC_ERROR = -1
export const RPC_NOT_FOUND = -5
export const RPC_INVALID_PARAMETER = -8
/** The node has started and still loads its chain. */
export const RPC_IN_WARMUP = -28

export function isRpcError(error: unknown, ...codes: number[]): error is NodeRpcError {
  return error instanceof NodeRpcError && codes.includes(error.code)
}
