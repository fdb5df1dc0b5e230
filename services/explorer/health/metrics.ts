import { MetricSet } from '../../prometheus.js'
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

/** What the explorer reports to Prometheus. */
export class Metrics extends MetricSet {
  readonly #durations = this.seconds(
    'api_request_duration_seconds',
    'Time from a request to its answer, by route pattern and status (499: the client left before it), and of 503 its reason.',
    'route',
    'status',
    'reason',
  )
  /** By its labels: finding one by them costs more than observing. */
  readonly #durationsBy = new Map<string, { observe(seconds: number): void }>()
  readonly #calls = this.seconds(
    'grpc_call_duration_seconds',
    'Time from a call by gRPC to its answer, by method and status code.',
    'method',
    'code',
  )
  readonly #defects = this.count(
    'defects_total',
    'Errors of our own, refused queries included: of answers (500, INTERNAL), of following the log, of the materializer.',
    'where',
  )

  constructor(sources: MetricSources) {
    super('headwater_')
    // From 0 on, so that the first one is an increase.
    for (const where of DEFECTIVE) this.#defects.inc({ where }, 0)
    this.gauge('api_db_pool_total', 'Connections to the database in use.', sources.connections)
    this.gauge(
      'api_answers_under_way',
      'Answers that are being made from the database; beyond a limit none is begun.',
      sources.answersUnderWay,
    )
    this.gauge(
      'api_lookups_waiting',
      'Keys that wait for a batch of lookups in the database.',
      sources.lookupsWaiting,
    )
    this.gauge('api_ws_clients', 'Connected WebSocket clients.', sources.wsClients)
    this.gauge('grpc_streams', 'Open streams of gRPC.', sources.grpcStreams)
    this.gauge('tip_height', 'Height of the head, -1 for none.', sources.tipHeight)
    this.gauge('node_height', 'Height in the last applied heartbeat, -1 for none.', sources.nodeHeight)
    this.gauge(
      'heartbeat_applied_timestamp_seconds',
      'When the last heartbeat came through: poller, node, log and materializer were well then. 0 for never.',
      () => sources.heartbeatApplied() / 1000,
    )
    this.gauge('tip_lag_blocks', 'Blocks that the head is behind the node.', () =>
      Math.max(0, sources.nodeHeight() - sources.tipHeight()),
    )
    this.gauge('log_damage', 'Damage in the log: 0 none, 1 the poller repairs it, 2 it refuses to.', () =>
      ['none', 'healing', 'refused'].indexOf(sources.logDamage()),
    )
    this.gauge('pool_transactions', 'Unconfirmed transactions.', sources.poolSize)
    this.gauge(
      'audit_differences',
      "Differences between index and node that the explorer's last own audit found.",
      () => sources.audit().differences,
    )
    this.gauge('audit_last_run_timestamp_seconds', 'When that audit ended, 0 for never.', () =>
      Math.floor(Date.parse(sources.audit().checkedAt ?? new Date(0).toISOString()) / 1000),
    )
    this.gauge(
      'audit_checks',
      'Blocks, days and pools that it has looked at since the start.',
      () => sources.audit().checks,
    )
    this.gauges(
      'definition_file_refused',
      'Whether a file of definitions has a fault as it is now, so that the ones read before stay.',
      ['file'],
      () => sources.refusedFiles().map(({ file, isRefused }) => [{ file }, Number(isRefused)]),
    )
    this.gauges(
      'consumer_lag',
      'Events of a topic of the log that a consumer has not finished.',
      ['topic', 'consumer'],
      async () =>
        (await sources.consumerLags()).map(({ topic, consumer, lag }) => [{ topic, consumer }, lag]),
    )
    this.counted('reorgs_total', 'Reorganisations of the indexed chain.', sources.reorgs)
    this.counted(
      'api_lookups_total',
      'Keys that were looked up in the database; those of clients that left while they waited are not.',
      sources.lookedUp,
    )
    this.counted('log_damages_total', 'Damages of the log that were reported.', sources.logDamages)
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
}
