import {
  type Aggregator,
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from 'prom-client'

/** Buckets for durations from a millisecond to half a minute. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Buckets for the sizes of batches. */
const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 1000, 10_000, 100_000]

type LabelledValues<L extends string> = readonly (readonly [labels: Record<L, string>, value: number])[]

/** The durations of one set of labels. */
export class DurationSeries {
  readonly #counts = new Float64Array(SECONDS.length + 1)
  #sum = 0

  observe(seconds: number): void {
    let bucket = 0
    while (bucket < SECONDS.length && seconds > (SECONDS[bucket] as number)) bucket++
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
  }

  /** Returns the samples of a histogram, as the client represents them. */
  samples(metric: string, labels: Readonly<Record<string, string>>): Sample[] {
    let count = 0
    const buckets = [...SECONDS, '+Inf'].map((le, index): Sample => {
      count += this.#counts[index] ?? 0
      return { metricName: `${metric}_bucket`, labels: { le, ...labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${metric}_sum`, labels, value: this.#sum },
      { metricName: `${metric}_count`, labels, value: count },
    ]
  }
}

interface Sample {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/**
 * A histogram of durations by labels. The client's own one builds a key from the labels at each observation, which costs more than
 * to send an answer from memory.
 */
export class Durations {
  readonly #series = new Map<DurationSeries, Readonly<Record<string, string>>>()
  readonly type = 'histogram'
  readonly aggregator = 'sum'

  constructor(
    readonly name: string,
    readonly help: string,
  ) {}

  /** Adds the series of a set of labels, which must not exist yet. */
  add(labels: Readonly<Record<string, string>>): DurationSeries {
    const series = new DurationSeries()
    this.#series.set(series, labels)
    return series
  }

  /** Returns the metric as the client represents it. The client calls it at each scrape. */
  get(): Promise<object> {
    const { name, help, type, aggregator } = this
    const values = [...this.#series].flatMap(([series, labels]) => series.samples(name, labels))
    return Promise.resolve({ name, help, type, aggregator, values })
  }
}

/** The function that combines the values of several processes; the sum for counters, histograms and most gauges. */
export type Combination = Extract<Aggregator, 'sum' | 'min' | 'max'>

/** The values of all metrics of a process, which can be sent to another process. */
export type MetricSnapshot = readonly MetricObjectWithValues<MetricValueWithName<string>>[]

/** The functions for metrics of Node.js for which the library has an average, which hides a busy process, or none. */
const OF_NODE: Partial<Record<Aggregator, Combination>> = { average: 'max', omit: 'min' }

/** The metrics of a process: Node.js' metrics and a subclass's. This file is the only importer of Prometheus' client. */
export class MetricSet {
  readonly #prefix: string
  readonly #registry = new Registry()

  /** @param prefix the prefix of all metric names. */
  constructor(prefix: string) {
    this.#prefix = prefix
    collectDefaultMetrics({ register: this.#registry, prefix })
  }

  private named(name: string, help: string): { name: string; help: string; registers: Registry[] } {
    return { name: this.#prefix + name, help, registers: [this.#registry] }
  }

  protected count<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ ...this.named(name, help), labelNames })
  }

  /** Adds a counter that is read at each scrape. */
  protected counted(name: string, help: string, read: () => number, aggregator: Combination = 'sum'): void {
    new Counter({
      ...this.named(name, help),
      aggregator,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }

  /** Adds a counter with several series, which are read at each scrape. */
  protected countedBy(
    name: string,
    help: string,
    label: string,
    read: () => Readonly<Record<string, number>>,
  ): void {
    new Counter({
      ...this.named(name, help),
      labelNames: [label],
      collect() {
        this.reset()
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count)
      },
    })
  }

  /** Returns a histogram of durations that are observed at a high rate. */
  protected durations(name: string, help: string): Durations {
    const metric = new Durations(this.#prefix + name, help)
    // The types demand one of the client's own classes; it only calls `get`.
    this.#registry.registerMetric(metric as unknown as Histogram)
    return metric
  }

  /** Returns a histogram of durations. */
  protected seconds<L extends string>(name: string, help: string, ...labelNames: L[]): Histogram<L> {
    return new Histogram({ ...this.named(name, help), labelNames, buckets: SECONDS })
  }

  /** Returns a histogram of the sizes of batches. */
  protected sizes<L extends string>(name: string, help: string, ...labelNames: L[]): Histogram<L> {
    return new Histogram({ ...this.named(name, help), labelNames, buckets: BATCH_SIZES })
  }

  /** Adds a gauge that is read at each scrape; it has no value while `read` returns undefined. */
  protected gauge(
    name: string,
    help: string,
    read: () => number | undefined | Promise<number | undefined>,
    aggregator: Combination = 'sum',
  ): void {
    new Gauge({
      ...this.named(name, help),
      aggregator,
      async collect() {
        const value = await read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  }

  /** Adds a gauge with several series, which are read at each scrape. */
  protected gauges<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: () => LabelledValues<L> | Promise<LabelledValues<L>>,
    aggregator: Combination = 'sum',
  ): void {
    new Gauge({
      ...this.named(name, help),
      aggregator,
      labelNames,
      async collect() {
        for (const [labels, value] of await read()) this.set(labels, value)
      },
    })
  }

  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }

  async snapshot(): Promise<MetricSnapshot> {
    return snapshotOf(this.#registry)
  }

  close(): void {
    this.#registry.clear()
  }
}

/** Merges the metrics of several processes, as if they were one process. */
export function combined(snapshots: readonly MetricSnapshot[]): Promise<MetricSnapshot> {
  return snapshotOf(AggregatorRegistry.aggregate([...snapshots]))
}

/** Returns the metrics in Prometheus' text format. */
export async function textOf(snapshot: MetricSnapshot): Promise<{ text: string; type: string }> {
  const registry = AggregatorRegistry.aggregate([snapshot])
  return { text: await registry.metrics(), type: registry.contentType }
}

/** Returns the metrics that only grow: they must not fall when a process exits. */
export function countersOf(snapshot: MetricSnapshot): MetricSnapshot {
  // The types declare numbers, the library sends words.
  return snapshot.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
}

async function snapshotOf(registry: Registry): Promise<MetricSnapshot> {
  const metrics = await registry.getMetricsAsJSON()
  return metrics.map((metric) => {
    return { ...metric, aggregator: OF_NODE[metric.aggregator] ?? metric.aggregator }
  })
}
