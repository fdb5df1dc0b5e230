import type { RetrievalStatus } from '../../pipelines/retrieval/retrieval.js'
import { MetricSet } from '../prometheus.js'

/** What the retrieval worker reports to Prometheus. */
export class Metrics extends MetricSet {
  readonly #durations = this.seconds(
    'duration_seconds',
    'Time from a question to its answer.',
    'method',
    'ranking',
  )
  readonly #lexical = this.count('lexical_total', 'Questions answered by words alone.')

  constructor(status: () => RetrievalStatus) {
    super('headwater_retrieval_')
    const builtSeconds = (): number => Math.floor(status().indexBuiltMs / 1000)
    this.gauge('pages', 'Pages in the index.', () => status().pages)
    this.gauge('chunks', 'Passages in the index.', () => status().chunks)
    this.gauge('semantic_ready', 'Whether meaning is searched as well as words.', () =>
      Number(status().semantic === 'ready'),
    )
    this.gauge('index_built_timestamp_seconds', 'When the index was built.', builtSeconds)
    this.gauge(
      'index_age_seconds',
      'How long ago that was.',
      () => Math.floor(Date.now() / 1000) - builtSeconds(),
    )
    this.gauge('index_stale', 'Whether the content has changed since.', () => Number(status().indexStale))
    this.gauge('passages_to_embed', 'Passages that are still to be embedded.', () => {
      const { total, done } = status().embedding
      return total - done
    })
  }

  observe(method: string, ranking: 'lexical' | 'hybrid', seconds: number): void {
    this.#durations.observe({ method, ranking }, seconds)
    if (ranking === 'lexical') this.#lexical.inc()
  }
}
