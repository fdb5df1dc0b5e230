import { create } from '@bufbuild/protobuf'
import { pino } from 'pino'
import {
  Hit_Kind,
  Ranking,
  RetrievalService,
  StatusResponse_Semantic,
  StatusResponseSchema,
  type Passage,
  type PassagesRequest,
  type SearchRequest,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { rpcService } from '../../../services/rpc/handlers.js'
import { startRpcServer, type RpcServer } from '../../../services/rpc/server.js'

export type FakePassage = Partial<Omit<Passage, '$typeName' | '$unknown'>>

/** A server of the retrieval worker's gRPC; the test sets its results. */
export class FakeWorker {
  /** Results in the order of their rank, for any query. */
  passages: FakePassage[] = []
  unknownNames: string[] = []
  ranking = Ranking.HYBRID
  semantic = StatusResponse_Semantic.READY
  readonly searches: SearchRequest[] = []
  readonly requested: PassagesRequest[] = []
  #server: RpcServer | undefined

  /** @param port 0 for any free port. */
  async start(port = 0): Promise<string> {
    const service = rpcService(RetrievalService, {
      search: (request) => {
        this.searches.push(request)
        return { pages: this.#pages(request.query), ranking: this.ranking }
      },
      passages: (request) => {
        this.requested.push(request)
        const unknownNames = this.unknownNames.filter((name) => request.query.includes(name))
        return { passages: this.passages.slice(0, request.limit), ranking: this.ranking, unknownNames }
      },
      status: () =>
        create(StatusResponseSchema, {
          pages: 2,
          chunks: 7,
          semantic: this.semantic,
          indexBuiltMs: 1_790_000_000_000n,
          indexStale: false,
        }),
    })
    const options = { host: '127.0.0.1', port, services: [service], logger: pino({ level: 'silent' }) }
    this.#server = await startRpcServer(options)
    return `127.0.0.1:${String(this.#server.port)}`
  }

  async close(): Promise<void> {
    await this.#server?.close()
  }

  /** A hit with the query's word marked in a title, a heading and a text. */
  #pages(query: string) {
    const start = 'A <b> & '.length
    const marks = [{ start, end: start + query.length }]
    const text = `A <b> & ${query}!`
    return [
      {
        url: '/guide/start',
        title: text,
        breadcrumbs: ['Guide'],
        titleMarks: marks,
        hits: [
          { kind: Hit_Kind.HEADING, headingId: 'first', text, marks },
          { kind: Hit_Kind.TEXT, headingId: 'first', text, marks },
          { kind: Hit_Kind.TEXT, headingId: '', text: 'none', marks: [] },
        ],
      },
      { url: '/', title: 'Home', breadcrumbs: [], titleMarks: [], hits: [] },
    ]
  }
}

export const passage = (over: FakePassage = {}): FakePassage => ({
  id: over.id ?? `${over.pageUrl ?? '/guide/start'} ${over.markdown ?? ''}`,
  pageUrl: '/guide/start',
  pageTitle: 'Getting started',
  headingId: 'first',
  headingPath: ['First steps'],
  markdown: 'Run `npm start`, then open the explorer.',
  score: 1,
  similarity: 0.7,
  coverage: 0.8,
  ...over,
})
