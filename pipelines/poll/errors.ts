import { coded, isDefect, StartRefused } from '../errors.js'
import { NodeFaultError, NodeRefusedError, NodeRpcError } from '../node/errors.js'

/** Thrown when another poller has started on the log: this one must no longer write. */
export class SupersededError extends coded('HW_SUPERSEDED', StartRefused) {
  constructor(own: number, newer: number) {
    super(
      `another poller writes to this log: its epoch ${String(newer)} is newer than this one's ${String(own)}; run one poller per log`,
    )
  }
}

/** Thrown if the end of the log is not where this poller left it: it must read the log again before it writes. */
export class LogMovedError extends coded('HW_LOG_MOVED') {}

/** Thrown if the log no longer contains an event that it must contain. */
export class LogLostError extends coded('HW_LOG_LOST') {}

/** Thrown when a materializer has reported damage in the log, which a new epoch has to repair. */
export class LogDamagedError extends coded('HW_LOG_DAMAGED') {}

/** Thrown if the node has pruned blocks that the log needs. */
export class PrunedNodeError extends coded('HW_NODE_PRUNED', StartRefused) {
  /** @param from the height of the lowest block that the node has, if that is known. */
  constructor(address: string, height: number, from?: number) {
    super(
      `the node at ${address} has pruned block ${String(height)}, which the log needs` +
        (from === undefined ? ': ' : `, and has blocks from ${String(from)} on: `) +
        'set NODE_RPC_URL to a node that keeps all blocks (prune=0), or restore topic chain from a backup',
    )
  }
}

/** Thrown if the node keeps returning a block without the outputs that its inputs spend, which nothing else contains. */
export class NoPrevoutsError extends coded('HW_NODE_TOO_OLD', StartRefused) {
  constructor(block: string) {
    super(
      `the node returns block ${block} without the outputs that it spends (getblock with verbosity 3): ` +
        'set NODE_RPC_URL to a node of Bitcoin Core 23 or later, or of a version that derives from it, whose undo data (rev*.dat) is complete',
    )
  }
}

/** Thrown for an inconsistent block of the node. Such a block is not stored, and is requested again. */
export class InvalidBlockError extends coded('HW_BLOCK_INVALID') {
  constructor(hash: string, why: string) {
    super(`block ${hash} of the node is invalid: ${why}`)
  }
}

/** Thrown for a block whose inputs lack the outputs that they spend. */
export class MissingPrevoutError extends InvalidBlockError {}

/** Thrown if replies of the node contradict each other for longer than a change of its chain explains. */
export class UnsteadyNodeError extends coded('HW_NODE_UNSTEADY') {}

/** Returns whether retrying cannot fix an error: another chain, another poller, or a defect. */
export function isFatal(error: unknown): boolean {
  return error instanceof StartRefused || isDefect(error)
}

/** Returns whether the node caused an error. The log is then unchanged, and still agrees with memory. */
export function isOfNode(error: unknown): boolean {
  const kinds = [NodeFaultError, NodeRefusedError, NodeRpcError, InvalidBlockError, UnsteadyNodeError]
  return kinds.some((kind) => error instanceof kind)
}
