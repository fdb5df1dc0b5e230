/** Prometheus' client, for all services. The only place that names it. */
export { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Buckets of what takes from a millisecond to half a minute. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Buckets of how many things are handled at once. */
export const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 1000, 10_000, 100_000]

/** A label for an error that is one of a few: the name of its class. */
export function kindOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}
