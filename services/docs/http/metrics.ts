import {
  StatusResponse_Semantic as Semantic,
  type StatusResponse,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '../../prometheus.js'

/** What the gauges are read from when somebody looks. */
export interface MetricSources {
  readonly pages: () => number
  readonly faults: () => number
  /** Undefined where the retrieval worker is away. */
  readonly retrieval: () => Promise<StatusResponse | undefined>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What the docs service tells Prometheus. */
export class DocsMetrics {
  readonly #registry = new Registry()
  readonly #sources: MetricSources
  readonly #durations: Histogram<'route' | 'status'>
  readonly #answers: Counter<'outcome'>
  readonly #retrieval: Readonly<Record<'up' | 'chunks' | 'semantic' | 'age' | 'stale', Gauge>>

  constructor(sources: MetricSources) {
    this.#sources = sources
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry, prefix: 'headwater_' })
    this.#durations = new Histogram({
      name: 'headwater_docs_request_duration_seconds',
      help: 'Time from a request to its answer, by route pattern and status.',
      labelNames: ['route', 'status'],
      buckets: SECONDS,
      registers,
    })
    this.#answers = new Counter({
      name: 'headwater_docs_answers_total',
      help: 'Questions, by what became of them.',
      labelNames: ['outcome'],
      registers,
    })
    const gauge = (name: string, help: string, read?: () => number): Gauge =>
      new Gauge({
        name,
        help,
        registers,
        ...(read === undefined
          ? {}
          : {
              collect() {
                this.set(read())
              },
            }),
      })
    gauge('headwater_docs_pages', 'Pages that are served.', sources.pages)
    gauge('headwater_docs_faults', 'Files that could not be read as they are now.', sources.faults)
    this.#retrieval = {
      up: gauge('headwater_docs_retrieval_up', 'Whether the retrieval worker answers.'),
      chunks: gauge('headwater_docs_index_chunks', 'Chunks in the retrieval index.'),
      semantic: gauge('headwater_docs_semantic_ready', 'Whether embeddings take part in the ranking.'),
      age: gauge('headwater_docs_index_age_seconds', 'Age of the retrieval index, -1 for none.'),
      stale: gauge(
        'headwater_docs_index_stale',
        'Whether the content has changed since the index was built.',
      ),
    }
  }

  observe(route: string, status: number, seconds: number): void {
    this.#durations.observe({ route, status: String(status) }, seconds)
  }

  answered(outcome: string): void {
    this.#answers.inc({ outcome })
  }

  async text(): Promise<{ text: string; type: string }> {
    const status = await this.#sources.retrieval()
    const { up, chunks, semantic, age, stale } = this.#retrieval
    const builtMs = Number(status?.indexBuiltMs ?? 0)
    up.set(status === undefined ? 0 : 1)
    chunks.set(status?.chunks ?? 0)
    semantic.set(status?.semantic === Semantic.READY ? 1 : 0)
    age.set(builtMs === 0 ? -1 : (Date.now() - builtMs) / 1000)
    stale.set(status === undefined || status.indexStale ? 1 : 0)
    return { text: await this.#registry.metrics(), type: this.#registry.contentType }
  }

  close(): void {
    this.#registry.clear()
  }
}
