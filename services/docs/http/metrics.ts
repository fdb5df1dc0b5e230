import {
  StatusResponse_Semantic as Semantic,
  type StatusResponse,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { MetricSet } from '../../metrics/prometheus.js'

/** The sources of the gauges, which are read at each scrape. */
export interface MetricSources {
  readonly pages: () => number
  readonly unread: () => number
  readonly faults: () => number
  /** Returns undefined if the retrieval worker is unreachable. */
  readonly retrieval: () => Promise<StatusResponse | undefined>
}

/** The metrics of the documentation service. */
export class DocsMetrics extends MetricSet {
  readonly #retrieval: MetricSources['retrieval']
  readonly #durations = this.seconds(
    'docs_request_duration_seconds',
    'Time from a request to its answer, by route pattern and status.',
    'route',
    'status',
  )
  readonly #answers = this.count('docs_answers_total', 'Questions, by outcome.', 'outcome')
  /** Status of the worker at the current scrape. */
  #status: StatusResponse | undefined

  constructor({ pages, unread, faults, retrieval }: MetricSources) {
    super('headwater_')
    this.#retrieval = retrieval
    this.gauge('docs_pages', 'Pages that are served.', pages)
    this.gauge('docs_pages_to_read', 'Files that are not read yet since the start.', unread)
    this.gauge('docs_faults', 'Files that cannot be read at the moment.', faults)
    this.gauge('docs_retrieval_up', 'Whether the retrieval worker responds.', () =>
      Number(this.#status !== undefined),
    )
    this.gauge('docs_index_chunks', 'Chunks in the retrieval index.', () => this.#status?.chunks ?? 0)
    this.gauge('docs_passages_to_embed', 'Passages that have no embedding yet.', () => {
      const { total = 0, done = 0 } = this.#status?.embedding ?? {}
      return total - done
    })
    this.gauge('docs_embedding_seconds_left', 'Estimate of the time until all passages are embedded.', () => {
      return this.#status?.embedding?.secondsLeft ?? 0
    })
    this.gauge('docs_semantic_ready', 'Whether the ranking uses embeddings.', () =>
      Number(this.#status?.semantic === Semantic.READY),
    )
    this.gauge('docs_index_age_seconds', 'Age of the retrieval index, -1 for none.', () => {
      const builtMs = Number(this.#status?.indexBuiltMs ?? 0)
      return builtMs === 0 ? -1 : (Date.now() - builtMs) / 1000
    })
    this.gauge('docs_index_stale', 'Whether the content has changed since the index was built.', () =>
      Number(this.#status?.indexStale ?? true),
    )
  }

  observe(route: string, status: number, seconds: number): void {
    this.#durations.observe({ route, status: String(status) }, seconds)
  }

  answered(outcome: string): void {
    this.#answers.inc({ outcome })
  }

  override async text(): Promise<{ text: string; type: string }> {
    this.#status = await this.#retrieval()
    return super.text()
  }
}
