import type { Topic } from '../pipelines/log/port.js'
import {
  BATCH_SIZES,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  kindOf,
  Registry,
  SECONDS,
} from './prometheus.js'
import type { Vitals } from './vitals.js'

export interface ProcessMetricsOptions {
  /** Of every name. */
  readonly prefix: string
  readonly vitals: Vitals
  /** What the counters of blocks and of errors count. */
  readonly blocks: string
  readonly errors: string
}

/** What poller and materializer both report to Prometheus. */
export class ProcessMetrics {
  readonly vitals: Vitals
  protected readonly blocks: Counter<'change'>
  protected readonly errors: Counter<'kind'>
  readonly #prefix: string
  readonly #registry = new Registry()
  readonly #appends: Histogram<'topic'>

  constructor({ prefix, vitals, blocks, errors }: ProcessMetricsOptions) {
    this.#prefix = prefix
    this.vitals = vitals
    collectDefaultMetrics({ register: this.#registry, prefix })
    this.blocks = this.count('blocks_total', blocks, 'change')
    this.errors = this.count('errors_total', errors, 'kind')
    this.#appends = this.seconds(
      'append_duration_seconds',
      'Time to append a batch to the log, by topic.',
      'topic',
    )
  }

  private named(name: string, help: string): { name: string; help: string; registers: Registry[] } {
    return { name: this.#prefix + name, help, registers: [this.#registry] }
  }

  protected count<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ ...this.named(name, help), labelNames })
  }

  /** A histogram of durations. */
  protected seconds<L extends string>(name: string, help: string, ...labelNames: L[]): Histogram<L> {
    return new Histogram({ ...this.named(name, help), labelNames, buckets: SECONDS })
  }

  /** A histogram of how many things are handled at once. */
  protected sizes<L extends string>(name: string, help: string, ...labelNames: L[]): Histogram<L> {
    return new Histogram({ ...this.named(name, help), labelNames, buckets: BATCH_SIZES })
  }

  /** A gauge that is read when somebody looks; without a value where there is none. */
  protected gauge(
    name: string,
    help: string,
    read: () => number | undefined | Promise<number | undefined>,
  ): void {
    new Gauge({
      ...this.named(name, help),
      async collect() {
        const value = await read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  }

  failed(error: unknown): void {
    this.vitals.failed(error)
    this.errors.inc({ kind: kindOf(error) })
  }

  appended(topic: Topic, _events: number, seconds: number): void {
    this.#appends.observe({ topic }, seconds)
  }

  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }
}
