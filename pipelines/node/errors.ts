import { coded } from '../errors.js'

/** Thrown if the node returns an error that a retry would return again. */
export class NodeRpcError extends coded('HW_NODE_RPC') {
  constructor(
    readonly method: string,
    /** Error code of Bitcoin Core: -5 not found, -8 invalid parameter, -32601 unknown method, … */
    readonly rpcCode: number,
    /** The message of the node. */
    readonly reason: string,
  ) {
    super(`the node answered ${method} with error ${String(rpcCode)}: ${reason}`)
  }
}

const FAULTS = {
  unreachable: 'HW_NODE_UNREACHABLE',
  timeout: 'HW_NODE_TIMEOUT',
  busy: 'HW_NODE_BUSY',
  invalid: 'HW_NODE_INVALID',
} as const
/** The kind of a temporary failure of a request. */
export type FaultKind = keyof typeof FAULTS

/** Thrown if the node does not reply, or its reply is invalid, after the client has used all its attempts. */
export class NodeFaultError extends coded<(typeof FAULTS)[FaultKind]>('HW_NODE_UNREACHABLE') {
  override readonly code: (typeof FAULTS)[FaultKind]

  constructor(
    readonly kind: FaultKind,
    message: string,
    /** Pause that the node asked for, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
    this.code = FAULTS[kind]
  }
}

/** Thrown if an answer needs the node and it is unreachable; clients get 503. */
export class NodeUnavailable extends coded('HW_NODE_UNAVAILABLE') {}

/** Thrown if the node denies access: NODE_RPC_URL or the settings of the node must be corrected. */
export class NodeRefusedError extends coded('HW_NODE_REFUSED') {
  constructor(address: string, status: number) {
    super(
      `the node at ${address} refused the request (HTTP ${String(status)}): check user and password in NODE_RPC_URL and the node's rpcallowip`,
    )
  }
}

export const RPC_UNKNOWN_METHOD = -32601
/** The code for a pruned block, among others. */
export const RPC_MISC_ERROR = -1
export const RPC_NOT_FOUND = -5
export const RPC_INVALID_PARAMETER = -8
export const RPC_DESERIALIZATION_ERROR = -22
/** The codes for a transaction that spends unknown outputs or exceeds a limit of the call, that is not accepted, that is confirmed. */
export const RPC_TRANSACTION_ERROR = -25
export const RPC_TRANSACTION_REJECTED = -26
export const RPC_TRANSACTION_ALREADY_IN_CHAIN = -27
/** The code while the node is starting and loads its chain. */
export const RPC_IN_WARMUP = -28

/** Returns whether an error was returned by the node with one of these codes. */
export function isRpcError(error: unknown, ...codes: number[]): error is NodeRpcError {
  return error instanceof NodeRpcError && codes.includes(error.rpcCode)
}
