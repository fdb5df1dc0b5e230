import { offsetOf } from '../../pipelines/events/positions.js'
import type { LogObserver } from '../../pipelines/log/observed.js'
import type { Topic } from '../../pipelines/log/port.js'
import type { MaterializerObserver } from '../../pipelines/materialize/materializer.js'
import type { Head } from '../../pipelines/tables/head.js'
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

export interface MaterializerSources {
  /** The newest head of the one that is applying events; undefined before the first, and while standing by. */
  readonly head: () => Head | undefined
  /** Position of the last event of topic `chain`; undefined where the log cannot be read now. */
  readonly logEnd: () => Promise<number | undefined>
}

/** What the materializer reports to Prometheus and to `/health`. */
export class MaterializerMetrics implements MaterializerObserver, LogObserver {
  readonly vitals = new Vitals()
  readonly #registry = new Registry()
  readonly #sources: MaterializerSources
  readonly #blocks: Counter<'change'>
  readonly #events: Counter
  readonly #errors: Counter<'kind'>
  readonly #batches: Histogram
  readonly #insertRows: Histogram<'table'>
  readonly #inserts: Histogram<'table'>
  readonly #appends: Histogram<'topic'>
  #isLeading = false

  constructor(sources: MaterializerSources) {
    this.#sources = sources
    collectDefaultMetrics({ register: this.#registry, prefix: 'headwater_materializer_' })
    this.#blocks = new Counter({
      ...this.#named(
        'blocks_total',
        'Blocks applied to the tables, by what was done: connected or disconnected.',
      ),
      labelNames: ['change'],
    })
    this.#events = new Counter(this.#named('events_total', 'Events of topic chain that were applied.'))
    this.#errors = new Counter({
      ...this.#named('errors_total', 'Failed steps, by kind; each was tried again, or stopped it.'),
      labelNames: ['kind'],
    })
    this.#batches = new Histogram({
      ...this.#named('batch_events', 'Events applied at once.'),
      buckets: BATCH_SIZES,
    })
    this.#insertRows = new Histogram({
      ...this.#named('insert_rows', 'Rows of an insert, by table.'),
      labelNames: ['table'],
      buckets: BATCH_SIZES,
    })
    this.#inserts = new Histogram({
      ...this.#named('insert_duration_seconds', 'Time of an insert, by table.'),
      labelNames: ['table'],
      buckets: SECONDS,
    })
    this.#appends = new Histogram({
      ...this.#named('append_duration_seconds', 'Time to append a batch to the log, by topic.'),
      labelNames: ['topic'],
      buckets: SECONDS,
    })
    this.#gauges()
  }

  #named(name: string, help: string): { name: string; help: string; registers: Registry[] } {
    return { name: `headwater_materializer_${name}`, help, registers: [this.#registry] }
  }

  #gauges(): void {
    /** Without a value where there is none: a standby has no state of its own. */
    const gauge = (
      name: string,
      help: string,
      read: () => number | undefined | Promise<number | undefined>,
    ): void => {
      new Gauge({
        ...this.#named(name, help),
        async collect() {
          const value = await read()
          if (value === undefined) this.remove()
          else this.set(value)
        },
      })
    }
    const { head } = this.#sources
    gauge('leading', 'Whether it is the one that applies events.', () => Number(this.#isLeading))
    gauge('stopped', 'Whether it stands still until someone does something.', () =>
      Number(this.vitals.isStopped),
    )
    gauge('height', 'Height of its newest head.', () => head()?.tipHeight)
    gauge('epoch', 'Epoch of the last event in its newest head.', () => head()?.epoch)
    gauge('position', 'Position of that event in topic chain.', () => {
      const position = head()?.position
      return position === undefined ? undefined : offsetOf(position)
    })
    gauge('lag_events', "Events between its newest head and the log's end.", () => this.#lag())
  }

  async #lag(): Promise<number | undefined> {
    if (!this.#isLeading) return undefined
    const end = await this.#sources.logEnd()
    return end === undefined ? undefined : Math.max(0, end - offsetOf(this.#sources.head()?.position ?? -1))
  }

  /** It applies events from here on, or stands by. */
  leads(isLeading: boolean): void {
    this.#isLeading = isLeading
    if (isLeading) this.vitals.worked()
    else this.vitals.waits()
  }

  worked(events: number, blocks: { readonly connected: number; readonly disconnected: number }): void {
    this.vitals.worked()
    if (events === 0) return
    this.#events.inc(events)
    this.#batches.observe(events)
    this.#blocks.inc({ change: 'connected' }, blocks.connected)
    this.#blocks.inc({ change: 'disconnected' }, blocks.disconnected)
  }

  failed(error: unknown): void {
    this.vitals.failed(error)
    this.#errors.inc({ kind: kindOf(error) })
  }

  /** It stands still until someone does something. */
  stopped(why: Error): void {
    this.vitals.stopped(why.message)
    this.#errors.inc({ kind: kindOf(why) })
  }

  appended(topic: Topic, _events: number, seconds: number): void {
    this.#appends.observe({ topic }, seconds)
  }

  readonly inserted = (table: string, rows: number, seconds: number): void => {
    this.#inserts.observe({ table }, seconds)
    this.#insertRows.observe({ table }, rows)
  }

  /** 503 with reasons where it stands still or has got nowhere for long. One that stands by is well. */
  health(): Health {
    const reasons = this.vitals.reasons()
    const isWell = reasons.length === 0
    const { position, tipHeight, epoch } = this.#sources.head() ?? { position: -1, tipHeight: -1, epoch: 0 }
    const role = this.#isLeading ? 'leading' : 'standby'
    return {
      isWell,
      body: {
        ...{ status: isWell ? 'ok' : 'degraded', service: 'materializer', role, reasons },
        ...{ height: tipHeight, epoch, position: offsetOf(position) },
      },
    }
  }

  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }
}
