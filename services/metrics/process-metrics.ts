import { codeOf } from '../../pipelines/errors.js'
import type { Topic } from '../../pipelines/log/port.js'
import { MetricSet } from './prometheus.js'
import type { Vitals } from './vitals.js'

export interface ProcessMetricsOptions {
  /** The prefix of all metric names. */
  readonly prefix: string
  readonly vitals: Vitals
  /** The help texts of the counters of blocks and of errors. */
  readonly blocks: string
  readonly errors: string
}

/** The metrics that poller and materializer have in common. */
export class ProcessMetrics extends MetricSet {
  readonly vitals: Vitals
  protected readonly blocks
  protected readonly errors
  readonly #appends = this.seconds(
    'append_duration_seconds',
    'Time to append a batch to the log, by topic.',
    'topic',
  )

  constructor({ prefix, vitals, blocks, errors }: ProcessMetricsOptions) {
    super(prefix)
    this.vitals = vitals
    this.blocks = this.count('blocks_total', blocks, 'change')
    this.errors = this.count('errors_total', errors, 'code')
  }

  failed(error: unknown): void {
    this.vitals.failed(error)
    this.errors.inc({ code: codeOf(error) })
  }

  appended(topic: Topic, _events: number, seconds: number): void {
    this.#appends.observe({ topic }, seconds)
  }
}
