import type { LogObserver } from '../../pipelines/log/observed.js'
import type { Topic } from '../../pipelines/log/port.js'
import type { RpcAttempt } from '../../pipelines/node/client.js'
import { NodeFaultError } from '../../pipelines/node/errors.js'
import type { PollerObserver, PollerState } from '../../pipelines/poll/poller.js'
import type { Health } from '../observation.js'
import {
  BATCH_SIZES,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  kindOf,
  Registry,
  SECONDS,
} from '../prometheus.js'
import { Vitals } from '../vitals.js'

/** What the poller reports to Prometheus and to `/health`. */
export class PollerMetrics implements PollerObserver, LogObserver {
  readonly #registry = new Registry()
  readonly #state: () => PollerState
  readonly #vitals: Vitals
  readonly #blocks: Counter<'change'>
  readonly #errors: Counter<'kind'>
  readonly #batches: Histogram<'topic'>
  readonly #appends: Histogram<'topic'>
  readonly #rpc: Histogram<'method' | 'outcome'>

  constructor(state: () => PollerState, pollIntervalMs: number) {
    this.#state = state
    this.#vitals = new Vitals(pollIntervalMs)
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry, prefix: 'headwater_poller_' })
    this.#blocks = new Counter({
      name: 'headwater_poller_blocks_total',
      help: 'Blocks written to the log, as connected or as disconnected.',
      labelNames: ['change'],
      registers,
    })
    this.#errors = new Counter({
      name: 'headwater_poller_errors_total',
      help: 'Failed requests to the node and failed polls, by kind; each was tried again.',
      labelNames: ['kind'],
      registers,
    })
    this.#batches = new Histogram({
      name: 'headwater_poller_batch_events',
      help: 'Events appended to the log at once, by topic.',
      labelNames: ['topic'],
      buckets: BATCH_SIZES,
      registers,
    })
    this.#appends = new Histogram({
      name: 'headwater_poller_append_duration_seconds',
      help: 'Time to append a batch to the log, by topic.',
      labelNames: ['topic'],
      buckets: SECONDS,
      registers,
    })
    this.#rpc = new Histogram({
      name: 'headwater_poller_rpc_duration_seconds',
      help: 'Time from a request to the node to its answer or failure, by method and outcome.',
      labelNames: ['method', 'outcome'],
      buckets: SECONDS,
      registers,
    })
    this.#gauges()
  }

  #gauges(): void {
    const state = this.#state
    const gauge = (name: string, help: string, read: (now: PollerState) => number): void => {
      new Gauge({
        name: `headwater_poller_${name}`,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read(state()))
        },
      })
    }
    gauge('node_height', "Height of the node's tip, -1 while unknown.", ({ nodeHeight }) => nodeHeight)
    gauge('height', "Height of the log's tip, -1 while unknown.", ({ height }) => height)
    gauge('lag_blocks', 'Blocks that the log is behind the node.', ({ nodeHeight, height }) =>
      Math.max(0, nodeHeight - height),
    )
    gauge('epoch', 'Epoch under which it writes, 0 before the first.', ({ epoch }) => epoch)
    gauge('position', 'Position of its last event of topic chain, -1 for none.', ({ position }) => position)
    gauge('mempool_transactions', 'Unconfirmed transactions in the log.', ({ poolSize }) => poolSize)
  }

  worked(): void {
    this.#vitals.worked()
  }

  moved(change: 'connected' | 'disconnected', blocks: number): void {
    this.#blocks.inc({ change }, blocks)
  }

  failed(error: unknown): void {
    this.#vitals.failed(error)
    // A request's own failure was counted when it happened.
    if (!(error instanceof NodeFaultError)) this.#errors.inc({ kind: kindOf(error) })
  }

  readonly attempted = ({ method, outcome, seconds, error }: RpcAttempt): void => {
    this.#rpc.observe({ method, outcome }, seconds)
    if (error instanceof NodeFaultError) {
      this.#errors.inc({ kind: `node ${error.kind}` })
      this.#vitals.failed(error)
    }
  }

  appended(topic: Topic, events: number, seconds: number): void {
    this.#batches.observe({ topic }, events)
    this.#appends.observe({ topic }, seconds)
  }

  /** 503 with reasons where nothing has moved for long: node or log unreachable, or the node contradicts itself. */
  health(): Health {
    const reasons = this.#vitals.reasons()
    const isWell = reasons.length === 0
    return {
      isWell,
      body: { status: isWell ? 'ok' : 'degraded', service: 'poller', reasons, ...this.#state() },
    }
  }

  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }
}
