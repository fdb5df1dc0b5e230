import type { LogObserver } from '../../pipelines/log/observed.js'
import type { Topic } from '../../pipelines/log/port.js'
import type { RpcAttempt } from '../../pipelines/node/client.js'
import { NodeFaultError } from '../../pipelines/node/errors.js'
import type { PollerObserver, PollerState } from '../../pipelines/poll/poller.js'
import type { Health } from '../metrics/observation.js'
import { ProcessMetrics } from '../metrics/process-metrics.js'
import { Vitals } from '../metrics/vitals.js'

/** The metrics of the poller and its answer to `/health`. */
export class PollerMetrics extends ProcessMetrics implements PollerObserver, LogObserver {
  readonly #state: () => PollerState
  readonly #batches = this.sizes('batch_events', 'Events appended to the log at once, by topic.', 'topic')
  readonly #rpc = this.seconds(
    'rpc_duration_seconds',
    'Time from a request to the node to its answer or failure, by method and outcome.',
    'method',
    'outcome',
  )

  constructor(state: () => PollerState, pollIntervalMs: number) {
    super({
      prefix: 'headwater_poller_',
      vitals: new Vitals(pollIntervalMs),
      blocks: 'Blocks written to the log, by change: connected or disconnected.',
      errors: 'Failed requests to the node and failed polls, by code; each was retried.',
    })
    this.#state = state
    this.gauge('node_height', "Height of the node's tip, -1 if unknown.", () => state().nodeHeight)
    this.gauge('height', "Height of the log's tip, -1 if unknown.", () => state().height)
    this.gauge('lag_blocks', 'Blocks by which the log is behind the node.', () => {
      const { nodeHeight, height } = state()
      return Math.max(0, nodeHeight - height)
    })
    this.gauge('epoch', 'Current epoch, 0 before the first.', () => state().epoch)
    this.gauge('position', 'Position of its last event in topic chain, -1 if none.', () => state().position)
    this.gauge('mempool_transactions', 'Unconfirmed transactions in the log.', () => state().mempoolSize)
  }

  worked(): void {
    this.vitals.worked()
  }

  moved(change: 'connected' | 'disconnected', blocks: number): void {
    this.blocks.inc({ change }, blocks)
  }

  override failed(error: unknown): void {
    // `attempted` has already counted the failure of a request.
    if (error instanceof NodeFaultError) this.vitals.failed(error)
    else super.failed(error)
  }

  readonly attempted = ({ method, outcome, seconds, error }: RpcAttempt): void => {
    this.#rpc.observe({ method, outcome }, seconds)
    if (error instanceof NodeFaultError) {
      this.errors.inc({ code: error.code })
      this.vitals.failed(error)
    }
  }

  override appended(topic: Topic, events: number, seconds: number): void {
    super.appended(topic, events, seconds)
    this.#batches.observe({ topic }, events)
  }

  /** Returns 503 with reasons if there was no progress for long: the node or the log is unreachable, or the node contradicts itself. */
  health(): Health {
    const reasons = this.vitals.reasons()
    const isWell = reasons.length === 0
    const { mempoolSize: poolSize, ...state } = this.#state()
    return {
      isWell,
      body: { status: isWell ? 'ok' : 'degraded', service: 'poller', reasons, ...state, poolSize },
    }
  }
}
