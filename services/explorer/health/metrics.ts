import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '../../prometheus.js'
import type { FailureKind } from '../answering/failure.js'
import type { AuditResult } from './audit-watch.js'

/** What the gauges are read from when somebody looks. */
export interface MetricSources {
  readonly connections: () => number
  readonly wsClients: () => number
  readonly grpcStreams: () => number
  readonly tipHeight: () => number
  readonly nodeHeight: () => number
  /** Unix milliseconds, 0 before any. */
  readonly heartbeatApplied: () => number
  readonly reorgs: () => number
  readonly logDamage: () => 'none' | 'healing' | 'refused'
  readonly logDamages: () => number
  readonly poolSize: () => number
  readonly refusedFiles: () => readonly { readonly file: string; readonly isRefused: boolean }[]
  readonly audit: () => AuditResult
  readonly answersUnderWay: () => number
  readonly lookupsWaiting: () => number
  readonly lookedUp: () => number
  /** Events of a topic that a consumer has not finished, by consumer; what cannot be read now is left out. */
  readonly consumerLags: () => Promise<readonly { topic: string; consumer: string; lag: number }[]>
}

/** What metrics tell of an answer. */
export interface Observed {
  readonly status: number
  /** Of 503: what passes by itself, or with more explorers, is told apart from what is out of order. */
  readonly reason?: FailureKind
}

/** Where an error of our own was met. */
const DEFECTIVE = ['http', 'grpc', 'follower', 'materializer'] as const
export type Defective = (typeof DEFECTIVE)[number]

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What the explorer tells Prometheus. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #durations: Histogram<'route' | 'status' | 'reason'>
  /** By its labels: finding one by them costs more than observing. */
  readonly #durationsBy = new Map<string, { observe(seconds: number): void }>()
  readonly #calls: Histogram<'method' | 'code'>
  readonly #defects: Counter<'where'>

  constructor(sources: MetricSources) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry, prefix: 'headwater_' })
    this.#durations = new Histogram({
      name: 'headwater_api_request_duration_seconds',
      help: 'Time from a request to its answer, by route pattern and status (499: the client left before it), and of 503 its reason.',
      labelNames: ['route', 'status', 'reason'],
      buckets: SECONDS,
      registers,
    })
    this.#calls = new Histogram({
      name: 'headwater_grpc_call_duration_seconds',
      help: 'Time from a call by gRPC to its answer, by method and status code.',
      labelNames: ['method', 'code'],
      buckets: SECONDS,
      registers,
    })
    this.#defects = new Counter({
      name: 'headwater_defects_total',
      help: 'Errors of our own, refused queries included: of answers (500, INTERNAL), of following the log, of the materializer.',
      labelNames: ['where'],
      registers,
    })
    // From 0 on, so that the first one is an increase.
    for (const where of DEFECTIVE) this.#defects.inc({ where }, 0)
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    }
    gauge('headwater_api_db_pool_total', 'Connections to the database in use.', sources.connections)
    gauge(
      'headwater_api_answers_under_way',
      'Answers that are being made from the database; beyond a limit none is begun.',
      sources.answersUnderWay,
    )
    gauge(
      'headwater_api_lookups_waiting',
      'Keys that wait for a batch of lookups in the database.',
      sources.lookupsWaiting,
    )
    gauge('headwater_api_ws_clients', 'Connected WebSocket clients.', sources.wsClients)
    gauge('headwater_grpc_streams', 'Open streams of gRPC.', sources.grpcStreams)
    gauge('headwater_tip_height', 'Height of the head, -1 for none.', sources.tipHeight)
    gauge('headwater_node_height', 'Height in the last applied heartbeat, -1 for none.', sources.nodeHeight)
    gauge(
      'headwater_heartbeat_applied_timestamp_seconds',
      'When the last heartbeat came through: poller, node, log and materializer were well then. 0 for never.',
      () => sources.heartbeatApplied() / 1000,
    )
    gauge('headwater_tip_lag_blocks', 'Blocks that the head is behind the node.', () =>
      Math.max(0, sources.nodeHeight() - sources.tipHeight()),
    )
    gauge(
      'headwater_log_damage',
      'Damage in the log: 0 none, 1 the poller repairs it, 2 it refuses to.',
      () => ['none', 'healing', 'refused'].indexOf(sources.logDamage()),
    )
    gauge('headwater_pool_transactions', 'Unconfirmed transactions.', sources.poolSize)
    gauge(
      'headwater_audit_differences',
      "Differences between index and node that the explorer's last own audit found.",
      () => sources.audit().differences,
    )
    gauge('headwater_audit_last_run_timestamp_seconds', 'When that audit ended, 0 for never.', () =>
      Math.floor(Date.parse(sources.audit().checkedAt ?? new Date(0).toISOString()) / 1000),
    )
    gauge(
      'headwater_audit_checks',
      'Blocks, days and pools that it has looked at since the start.',
      () => sources.audit().checks,
    )
    new Gauge({
      name: 'headwater_definition_file_refused',
      help: 'Whether a file of definitions has a fault as it is now, so that the ones read before stay.',
      labelNames: ['file'],
      registers,
      collect() {
        for (const { file, isRefused } of sources.refusedFiles()) this.set({ file }, isRefused ? 1 : 0)
      },
    })
    new Counter({
      name: 'headwater_reorgs_total',
      help: 'Reorganisations of the indexed chain.',
      registers,
      collect() {
        this.reset()
        this.inc(sources.reorgs())
      },
    })
    new Counter({
      name: 'headwater_api_lookups_total',
      help: 'Keys that were looked up in the database; those of clients that left while they waited are not.',
      registers,
      collect() {
        this.reset()
        this.inc(sources.lookedUp())
      },
    })
    new Counter({
      name: 'headwater_log_damages_total',
      help: 'Damages of the log that were reported.',
      registers,
      collect() {
        this.reset()
        this.inc(sources.logDamages())
      },
    })
    new Gauge({
      name: 'headwater_consumer_lag',
      help: 'Events of a topic of the log that a consumer has not finished.',
      labelNames: ['topic', 'consumer'],
      registers,
      async collect() {
        for (const { topic, consumer, lag } of await sources.consumerLags())
          this.set({ topic, consumer }, lag)
      },
    })
  }

  observe(route: string, { status, reason }: Observed, seconds: number): void {
    const key = `${route} ${String(status)} ${reason ?? ''}`
    let duration = this.#durationsBy.get(key)
    if (duration === undefined) {
      const labels = { route, status: String(status) }
      duration = this.#durations.labels(reason === undefined ? labels : { ...labels, reason })
      this.#durationsBy.set(key, duration)
    }
    duration.observe(seconds)
  }

  /** @param code the name of a status code of gRPC. */
  observeCall(method: string, code: string, seconds: number): void {
    this.#calls.observe({ method, code }, seconds)
  }

  /** Counts an error of our own. */
  defect(where: Defective): void {
    this.#defects.inc({ where })
  }

  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }

  close(): void {
    this.#registry.clear()
  }
}
