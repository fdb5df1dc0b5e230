import { NodeUnavailable } from '../../../../pipelines/node/errors.js'
import type { State } from '../state/state.js'
import type { AvailableDatabase } from '../tables/availability.js'
import type { AuditResult } from './audit-watch.js'

/**
 * The reason why the explorer is not up to date, or not equal to the node. A stage that is stuck: the database, the materializer, the
 * log, the node, the poller, or `source` if it is not known which of the last two. Or the index is behind (`syncing`), the node
 * downloads its chain (`node_syncing`), or they differ: in their newest block (`mismatch`), or as the audit found (`differences`).
 */
export type Trouble =
  | 'starting'
  | 'database'
  | 'materializer'
  | 'log'
  | 'node'
  | 'poller'
  | 'source'
  | 'syncing'
  | 'node_syncing'
  | 'mismatch'
  | 'differences'

/** The state of the explorer on which it depends how far its figures can be relied on. */
export interface Condition {
  /** Undefined if the explorer is live, and nothing is known to differ from the node. */
  readonly trouble: Trouble | undefined
  /** The newest block; undefined before the first. */
  readonly tip: { readonly height: number; readonly time: string } | undefined
  /** -1 before the first heartbeat. */
  readonly nodeHeight: number
  /** -1 if it is not known. */
  readonly nodeHeaders: number
  /** The time of the last heartbeat of the node that was applied, ISO 8601; undefined before the first. */
  readonly comparedAt: string | undefined
  readonly audit: AuditResult
}

interface ConditionParts {
  readonly state: State
  readonly database: Pick<AvailableDatabase, 'connected'>
  readonly audit: { readonly result: AuditResult }
  /** Calls the node. Rejects with NodeUnavailable if it cannot be reached. */
  readonly callNode: () => Promise<unknown>
}

/** The time between two calls of the node while it is silent. */
const CALL_EVERY_MS = 2_000

/** Derives the condition of the explorer from its state. Names the first stage of the data flow that is stuck. */
export class ConditionWatch {
  readonly #parts: ConditionParts
  /** True if the node answered the last call; undefined if none was necessary. */
  #isNodeReachable: boolean | undefined
  #calledAt = Number.NEGATIVE_INFINITY
  #reported: Trouble | undefined = 'starting'

  constructor(parts: ConditionParts) {
    this.#parts = parts
  }

  condition(): Condition {
    const { state, audit } = this.#parts
    const { nodeHeight, nodeHeaders, lastReconciledAt } = state.indexer()
    const { tip } = state.chain
    return {
      trouble: this.#trouble(),
      tip: tip && { height: tip.height, time: new Date(tip.time * 1000).toISOString() },
      nodeHeight,
      nodeHeaders,
      comparedAt: state.heartbeat === undefined ? undefined : lastReconciledAt,
      audit: audit.result,
    }
  }

  /** Reports a change of the trouble to the watchers of the state. Calls the node if its heartbeats have stopped. */
  check(): void {
    const { state } = this.#parts
    if (!state.isSourceSilent) this.#isNodeReachable = undefined
    else if (Date.now() - this.#calledAt >= CALL_EVERY_MS) this.#callNode()
    const trouble = this.#trouble()
    if (trouble === this.#reported) return
    this.#reported = trouble
    state.conditionChanged()
  }

  #callNode(): void {
    this.#calledAt = Date.now()
    this.#parts.callNode().then(
      () => {
        this.#isNodeReachable = true
      },
      (error: unknown) => {
        this.#isNodeReachable = error instanceof NodeUnavailable ? false : undefined
      },
    )
  }

  #trouble(): Trouble | undefined {
    const { state, database, audit } = this.#parts
    if (!database.connected) return 'database'
    if (!state.ready) return 'starting'
    const { indexerStatus, nodeHeight, tipMatch } = state.indexer()
    if (indexerStatus === 'stalled') return this.#stuckStage()
    if (indexerStatus !== 'live') return indexerStatus
    // After each block, the newest heartbeat is still from before it, and lower.
    if (!tipMatch && nodeHeight === state.chain.height) return 'mismatch'
    return audit.result.differences > 0 ? 'differences' : undefined
  }

  #stuckStage(): Trouble {
    const { state } = this.#parts
    if (!state.isLogReadable || state.logDamage !== 'none') return 'log'
    if (!state.isSourceSilent) return 'materializer'
    if (this.#isNodeReachable === undefined) return 'source'
    return this.#isNodeReachable ? 'poller' : 'node'
  }
}
