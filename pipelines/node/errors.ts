import { coded } from '../errors.js'

/** The node answered, and its answer is an error: asking the same again would give the same. */
export class NodeRpcError extends coded('HW_NODE_RPC') {
  constructor(
    readonly method: string,
    /** As Bitcoin Core numbers them: -5 not found, -8 bad parameter, -32601 unknown method, … */
    readonly rpcCode: number,
    message: string,
  ) {
    super(`the node answered ${method} with error ${String(rpcCode)}: ${message}`)
  }
}

const FAULTS = {
  unreachable: 'HW_NODE_UNREACHABLE',
  timeout: 'HW_NODE_TIMEOUT',
  busy: 'HW_NODE_BUSY',
  invalid: 'HW_NODE_INVALID',
} as const
/** What kept a request from being answered; each may be gone at the next try. */
export type FaultKind = keyof typeof FAULTS

/** The node gave no answer, or one that cannot be right. Retried by the client itself until its attempts are used up. */
export class NodeFaultError extends coded<(typeof FAULTS)[FaultKind]>('HW_NODE_UNREACHABLE') {
  override readonly code: (typeof FAULTS)[FaultKind]

  constructor(
    readonly kind: FaultKind,
    message: string,
    /** How long the node asked to be left alone, milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
    this.code = FAULTS[kind]
  }
}

/** The node does not let us in: to be mended in NODE_RPC_URL or in the node's own settings, not by trying again. */
export class NodeRefusedError extends coded('HW_NODE_REFUSED') {
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
  return error instanceof NodeRpcError && codes.includes(error.rpcCode)
}
