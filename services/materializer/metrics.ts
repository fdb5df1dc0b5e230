import { codeOf } from '../../pipelines/errors.js'
import { offsetOf } from '../../pipelines/events/positions.js'
import type { LogObserver } from '../../pipelines/log/observed.js'
import type { MaterializerObserver } from '../../pipelines/materialize/materializer.js'
import type { Head } from '../../pipelines/tables/head.js'
import type { Health } from '../metrics/observation.js'
import { ProcessMetrics } from '../metrics/process-metrics.js'
import { Vitals } from '../metrics/vitals.js'

export interface MaterializerSources {
  /** Returns the newest head of the active materializer; undefined before the first head and on a standby. */
  readonly head: () => Head | undefined
  /** Returns the position of the last event of topic `chain`; undefined while the log cannot be read. */
  readonly logEnd: () => Promise<number | undefined>
}

/** The metrics of the materializer and its answer to `/health`. */
export class MaterializerMetrics extends ProcessMetrics implements MaterializerObserver, LogObserver {
  readonly #sources: MaterializerSources
  readonly #events = this.count('events_total', 'Events of topic chain that were applied.')
  readonly #batches = this.sizes('batch_events', 'Events applied at once.')
  readonly #insertRows = this.sizes('insert_rows', 'Rows of an insert, by table.', 'table')
  readonly #inserts = this.seconds('insert_duration_seconds', 'Time of an insert, by table.', 'table')
  #isLeading = false

  constructor(sources: MaterializerSources) {
    super({
      prefix: 'headwater_materializer_',
      vitals: new Vitals(),
      blocks: 'Blocks applied to the tables, by change: connected or disconnected.',
      errors: 'Failed steps, by code; each was retried, or stopped the materializer.',
    })
    this.#sources = sources
    const { head } = sources
    this.gauge('leading', 'Whether this instance is active.', () => Number(this.#isLeading))
    this.gauge('stopped', 'Whether it has stopped until an operator acts.', () =>
      Number(this.vitals.isStopped),
    )
    // Without a value on a standby, which has no state of its own.
    this.gauge('height', 'Height of its newest head.', () => head()?.tipHeight)
    this.gauge('epoch', 'Epoch of the last event in its newest head.', () => head()?.epoch)
    this.gauge('position', 'Position of that event in topic chain.', () => {
      const position = head()?.position
      return position === undefined ? undefined : offsetOf(position)
    })
    this.gauge('lag_events', "Events between its newest head and the log's end.", () => this.#lag())
  }

  async #lag(): Promise<number | undefined> {
    if (!this.#isLeading) return undefined
    const end = await this.#sources.logEnd()
    return end === undefined ? undefined : Math.max(0, end - offsetOf(this.#sources.head()?.position ?? -1))
  }

  /** Sets whether this instance applies events or stands by. */
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
    this.blocks.inc({ change: 'connected' }, blocks.connected)
    this.blocks.inc({ change: 'disconnected' }, blocks.disconnected)
  }

  /** Records that it has stopped until an operator acts. */
  stopped(why: Error): void {
    this.vitals.stopped(why.message)
    this.errors.inc({ code: codeOf(why) })
  }

  /** Counts a failed step of the mempool's history, which does not make the process unhealthy. */
  historyFailed(error: unknown): void {
    this.errors.inc({ code: codeOf(error) })
  }

  readonly inserted = (table: string, rows: number, seconds: number): void => {
    this.#inserts.observe({ table }, seconds)
    this.#insertRows.observe({ table }, rows)
  }

  /** Returns 503 with reasons if it has stopped or has made no progress for long. A standby is healthy. */
  health(): Health {
    const reasons = this.vitals.reasons()
    const isWell = reasons.length === 0
    const { position, tipHeight, epoch } = this.#sources.head() ?? { position: -1, tipHeight: -1, epoch: 0 }
    const role = this.#isLeading ? 'leading' : 'standby'
    return {
      isWell,
      body: {
        status: isWell ? 'ok' : 'degraded',
        service: 'materializer',
        role,
        reasons,
        height: tipHeight,
        epoch,
        position: offsetOf(position),
      },
    }
  }
}
