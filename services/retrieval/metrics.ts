import type { RetrievalStatus } from '../../pipelines/retrieval/retrieval.js'
import type { JobProgress } from '../../pipelines/pace.js'
import { MetricSet } from '../metrics/prometheus.js'

/** The metrics of the retrieval worker. */
export class Metrics extends MetricSet {
  readonly #durations = this.seconds(
    'duration_seconds',
    'Time from a question to its answer.',
    'method',
    'ranking',
  )
  readonly #lexical = this.count('lexical_total', 'Questions answered by words only.')

  constructor(status: () => RetrievalStatus & { readonly reading?: JobProgress }) {
    super('headwater_retrieval_')
    const builtSeconds = (): number => Math.floor(status().indexBuiltMs / 1000)
    this.gauge('pages', 'Pages in the index.', () => status().pages)
    this.gauge('chunks', 'Passages in the index.', () => status().chunks)
    this.gauge('semantic_ready', 'Whether the ranking uses embeddings.', () =>
      Number(status().semantic === 'ready'),
    )
    this.gauge('index_built_timestamp_seconds', 'When the index was built.', builtSeconds)
    this.gauge('index_age_seconds', 'Age of the index.', () => Math.floor(Date.now() / 1000) - builtSeconds())
    this.gauge('index_stale', 'Whether the content has changed since the index was built.', () =>
      Number(status().indexStale),
    )
    this.gauge('passages_to_embed', 'Passages that have no embedding yet.', () => {
      const { total, done } = status().embedding
      return total - done
    })
    this.gauge('embedding_seconds_left', 'Estimate of the time until all passages are embedded.', () => {
      return status().embedding.secondsLeft ?? 0
    })
    this.gauge('pages_to_read', 'Files that are not read yet since the start.', () => {
      const { total = 0, done = 0 } = status().reading ?? {}
      return total - done
    })
  }

  observe(method: string, ranking: 'lexical' | 'hybrid', seconds: number): void {
    this.#durations.observe({ method, ranking }, seconds)
    if (ranking === 'lexical') this.#lexical.inc()
  }
}
