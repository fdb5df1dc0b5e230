import type { Observed } from '../http/answer.js'
import { type DurationSeries, MetricSet } from '../../metrics/prometheus.js'
import type { Definitions } from '../core/definitions/definitions.js'
import type { State } from '../core/state/state.js'
import type { AvailableDatabase } from '../core/tables/availability.js'
import type { NearRows } from '../core/tables/near-rows.js'
import type { Tables } from '../core/tables/tables.js'
import type { Reader } from '../core/answering/reader.js'
import type { AuditWatch } from '../core/health/audit-watch.js'

/** The sources that gauges and counters are read from at each scrape. */
export interface MetricParts {
  readonly state: State
  readonly database: Pick<AvailableDatabase, 'connected' | 'running'>
  readonly tables: Pick<Tables, 'lookupsWaiting' | 'lookedUp'>
  /** The rows of the transaction store; undefined without one. */
  readonly near?: Pick<NearRows, 'from' | 'counts'> | undefined
  readonly definitions: Pick<Definitions, 'refused'>
  readonly audit: Pick<AuditWatch, 'result'>
  readonly wsClients: () => number
  readonly grpcStreams: () => number
  readonly electrumClients: () => number
  readonly electrumSubscriptions: () => number
  readonly reader: Pick<Reader, 'answersUnderWay' | 'cache'>
  /** Returns the number of events of a topic that a consumer has not processed; lags that cannot be read are missing. */
  readonly consumerLags: () => Promise<readonly { topic: string; consumer: string; lag: number }[]>
}

/** The places where defects (errors in Headwater's own code, refused queries) occur. */
const DEFECT_SOURCES = ['http', 'grpc', 'follower', 'materializer'] as const
type DefectSource = (typeof DEFECT_SOURCES)[number]

/** The metrics of the explorer. */
export class Metrics extends MetricSet {
  readonly #durations = this.durations(
    'api_request_duration_seconds',
    'Time from a request to its answer, by route pattern and status (499: the client disconnected before it), and of 503 its code.',
  )
  /** The series of answers by route, and then by code if there is one, otherwise by status: no key is built for an answer. */
  readonly #series = new Map<string, Map<string | number, DurationSeries>>()
  readonly #calls = this.seconds(
    'grpc_call_duration_seconds',
    'Time from a gRPC call to its answer, by method and status code.',
    'method',
    'code',
  )
  readonly #electrum = this.seconds(
    'electrum_request_duration_seconds',
    'Time from a request of the Electrum protocol to its answer, by method and code of its error (0: none).',
    'method',
    'code',
  )
  readonly #notifications = this.count(
    'electrum_notifications_total',
    'Messages that were sent to subscribers of the Electrum protocol, by method.',
    'method',
  )
  readonly #defects = this.count(
    'defects_total',
    'Internal errors, including refused queries: in answers (500, INTERNAL), while following the log, in the materializer.',
    'where',
  )

  constructor() {
    super('headwater_')
    // The series start at 0, so that the first defect is an increase.
    for (const where of DEFECT_SOURCES) this.#defects.inc({ where }, 0)
  }

  /** Adds the metrics that are read from the parts of the explorer. Called once. */
  watch(parts: MetricParts): void {
    const { state, database, tables, audit, reader } = parts
    const nodeHeight = (): number => state.heartbeat?.nodeHeight ?? -1
    this.gauge('api_db_pool_total', 'Connections to the database in use.', () =>
      database.connected ? Math.max(1, database.running) : 0,
    )
    this.gauge(
      'api_answers_under_way',
      'Answers in progress that use the database; beyond a limit no new one is started.',
      () => reader.answersUnderWay,
    )
    this.gauge(
      'api_lookups_waiting',
      'Keys that wait for a batch of lookups in the database.',
      () => tables.lookupsWaiting,
    )
    this.countedBy(
      'tx_store_lookups_total',
      'Lookups of transactions and of their spends, by where they were found: in the transaction store, or else the database is queried.',
      'result',
      () => ({ ...(parts.near?.counts ?? { found: 0, missing: 0 }) }),
    )
    this.gauge(
      'tx_store_from_height',
      'Height from which on the transaction store has all blocks of the chain, -1 if it is off or not level.',
      () => parts.near?.from ?? -1,
      'max',
    )
    this.gauge('api_cache_bytes', 'Bytes of the answers in memory.', () => reader.cache.bytes)
    this.gauge('api_cache_answers', 'Answers in memory.', () => reader.cache.size)
    this.countedBy(
      'api_cache_requests_total',
      'Requests for answers that may be kept in memory, by result: hit, or miss and so made from the database.',
      'result',
      () => ({ ...reader.cache.requests }),
    )
    this.countedBy(
      'api_cache_dropped_total',
      'Answers that were dropped from memory, by reason: changed, because something that they depend on has; evicted, to make room.',
      'reason',
      () => ({ ...reader.cache.dropped }),
    )
    this.gauge('explorer_processes', 'Processes of this explorer that this answer counts.', () => 1)
    this.gauge('api_ws_clients', 'Connected WebSocket clients.', parts.wsClients)
    this.gauge('grpc_streams', 'Open gRPC streams.', parts.grpcStreams)
    this.gauge('electrum_clients', 'Connected clients of the Electrum protocol.', parts.electrumClients)
    this.gauge(
      'electrum_subscriptions',
      'Subscriptions of clients of the Electrum protocol to scripts.',
      parts.electrumSubscriptions,
    )
    this.gauge('tip_height', 'Height of the head, -1 if there is none.', () => state.chain.height, 'min')
    this.gauge('node_height', 'Height in the last applied heartbeat, -1 before the first.', nodeHeight, 'max')
    this.gauge(
      'heartbeat_applied_timestamp_seconds',
      'Time of the last heartbeat that passed poller, node, log and materializer; 0 for never.',
      () => (state.heartbeat?.appliedMs ?? 0) / 1000,
      'min',
    )
    this.gauge(
      'tip_lag_blocks',
      'Blocks that the head is behind the node.',
      () => Math.max(0, nodeHeight() - state.chain.height),
      'max',
    )
    this.gauge(
      'log_damage',
      'Damage in the log: 0 none, 1 the poller repairs it, 2 the poller refuses to repair it.',
      () => ['none', 'healing', 'refused'].indexOf(state.logDamage),
      'max',
    )
    this.gauge('pool_transactions', 'Unconfirmed transactions.', () => state.mempool.snapshot().size, 'max')
    this.gauge(
      'audit_differences',
      'Differences between index and node found by the last continuous audit.',
      () => audit.result.differences,
      'max',
    )
    this.gauge(
      'audit_last_run_timestamp_seconds',
      'Time at which the last continuous audit ended; 0 for never.',
      () => Math.floor(Date.parse(audit.result.checkedAt ?? new Date(0).toISOString()) / 1000),
      'max',
    )
    this.gauge(
      'audit_checks',
      'Blocks, days and mempools that the continuous audit has checked since the start.',
      () => audit.result.checks,
    )
    this.gauges(
      'definition_file_refused',
      'Whether a definitions file has an error, so that the previous definitions stay in use.',
      ['file'],
      () => parts.definitions.refused().map(({ file, isRefused }) => [{ file }, Number(isRefused)]),
      'max',
    )
    this.gauges(
      'consumer_lag',
      'Events of a topic of the log that a consumer has not processed.',
      ['topic', 'consumer'],
      async () => (await parts.consumerLags()).map(({ topic, consumer, lag }) => [{ topic, consumer }, lag]),
      'max',
    )
    this.counted('reorgs_total', 'Reorganisations of the indexed chain.', () => state.chain.reorgs, 'max')
    this.counted(
      'api_lookups_total',
      'Keys that were looked up in the database; those of clients that disconnected meanwhile are not counted.',
      () => tables.lookedUp,
    )
    this.counted(
      'log_damages_total',
      'Number of times that damage in the log was reported.',
      () => state.logDamages,
      'max',
    )
  }

  observe(route: string, { status, code }: Observed, seconds: number): void {
    let series = this.#series.get(route)
    if (series === undefined) this.#series.set(route, (series = new Map<string | number, DurationSeries>()))
    let duration = series.get(code ?? status)
    if (duration === undefined) {
      const labels = { route, status: String(status) }
      duration = this.#durations.add(code === undefined ? labels : { ...labels, code })
      series.set(code ?? status, duration)
    }
    duration.observe(seconds)
  }

  /** Records the duration of a gRPC call. @param code the name of its status code. */
  observeCall(method: string, code: string, seconds: number): void {
    this.#calls.observe({ method, code }, seconds)
  }

  /** Records the duration of a request of the Electrum protocol. @param code the code of its error, 0 for none. */
  observeElectrum(method: string, code: number, seconds: number): void {
    this.#electrum.observe({ method, code: String(code) }, seconds)
  }

  /** Counts a message to a subscriber of the Electrum protocol. */
  notified(method: string): void {
    this.#notifications.inc({ method })
  }

  /** Counts a defect. */
  defect(where: DefectSource): void {
    this.#defects.inc({ where })
  }
}
