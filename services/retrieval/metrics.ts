import type { RetrievalStatus } from '../../pipelines/retrieval/retrieval.js'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '../prometheus.js'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** What the retrieval worker tells Prometheus. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #durations: Histogram<'method' | 'ranking'>
  readonly #lexical: Counter

  constructor(status: () => RetrievalStatus) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry, prefix: 'headwater_retrieval_' })
    this.#durations = new Histogram({
      name: 'headwater_retrieval_duration_seconds',
      help: 'Time from a question to its answer.',
      labelNames: ['method', 'ranking'],
      buckets: SECONDS,
      registers,
    })
    this.#lexical = new Counter({
      name: 'headwater_retrieval_lexical_total',
      help: 'Questions answered by words alone.',
      registers,
    })
    const gauge = (name: string, help: string, read: (now: RetrievalStatus) => number): void => {
      new Gauge({
        name: `headwater_retrieval_${name}`,
        help,
        registers,
        collect() {
          this.set(read(status()))
        },
      })
    }
    gauge('pages', 'Pages in the index.', ({ pages }) => pages)
    gauge('chunks', 'Passages in the index.', ({ chunks }) => chunks)
    gauge('semantic_ready', 'Whether meaning is searched as well as words.', ({ semantic }) =>
      Number(semantic === 'ready'),
    )
    gauge('index_built_timestamp_seconds', 'When the index was built.', ({ indexBuiltMs }) =>
      Math.floor(indexBuiltMs / 1000),
    )
    gauge('index_age_seconds', 'How long ago that was.', ({ indexBuiltMs }) =>
      Math.floor((Date.now() - indexBuiltMs) / 1000),
    )
    gauge('index_stale', 'Whether the content has changed since.', ({ indexStale }) => Number(indexStale))
    gauge(
      'passages_to_embed',
      'Passages that are still to be embedded.',
      ({ embedding }) => embedding.total - embedding.done,
    )
  }

  observe(method: string, ranking: 'lexical' | 'hybrid', seconds: number): void {
    this.#durations.observe({ method, ranking }, seconds)
    if (ranking === 'lexical') this.#lexical.inc()
  }

  async text(): Promise<{ text: string; type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }
}
