import { coded, isDefect, StartRefused } from '../errors.js'
import { NodeFaultError, NodeRefusedError, NodeRpcError } from '../node/errors.js'

/** The node follows another chain than the log (or than CHAIN says): going on would mix two chains. */
export class WrongChainError extends coded('HW_WRONG_CHAIN', StartRefused) {}

/** Another poller has started on this log since: this one must not write any more. */
export class SupersededError extends coded('HW_SUPERSEDED', StartRefused) {
  constructor(own: number, newer: number) {
    super(
      `another poller writes to this log: its epoch ${String(newer)} is newer than this one's ${String(own)}; run one poller per log`,
    )
  }
}

/** The log's end is not where this poller left it; read it again before writing. */
export class LogMovedError extends coded('HW_LOG_MOVED') {}

/** The log does not hold an event any more that it must hold. */
export class LogLostError extends coded('HW_LOG_LOST') {}

/** A materializer has reported damage in the log: a new epoch has to repair it. */
export class LogDamagedError extends coded('HW_LOG_DAMAGED') {}

/** The node has thrown blocks away that the log needs. */
export class PrunedNodeError extends coded('HW_NODE_PRUNED', StartRefused) {
  constructor(address: string, height: number) {
    super(
      `the node at ${address} has pruned block ${String(height)}, which the log needs: ` +
        'set NODE_RPC_URL to a node that keeps all blocks (prune=0), or restore topic chain from a backup',
    )
  }
}

/** A block that the node gave contradicts itself. Never stored, asked for again. */
export class InvalidBlockError extends coded('HW_BLOCK_INVALID') {
  constructor(hash: string, why: string) {
    super(`block ${hash} of the node is invalid: ${why}`)
  }
}

/** The node's answers contradict each other for longer than its chain can be moving. */
export class UnsteadyNodeError extends coded('HW_NODE_UNSTEADY') {}

/** What trying again cannot mend: another chain, another poller, an error of our own. */
export function isFatal(error: unknown): boolean {
  return error instanceof StartRefused || isDefect(error)
}

/** What the node has done, with the log as it was: memory and log still agree. */
export function isOfNode(error: unknown): boolean {
  const kinds = [NodeFaultError, NodeRefusedError, NodeRpcError, InvalidBlockError, UnsteadyNodeError]
  return kinds.some((kind) => error instanceof kind)
}
