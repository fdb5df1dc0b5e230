import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Page } from '../../pipelines/content/page.js'
import { unknownNames } from '../../pipelines/retrieval/words/question.js'
import type { Lookup, Retrieval, SemanticState } from '../../pipelines/retrieval/retrieval.js'
import {
  Ranking,
  RetrievalService,
  StatusResponse_Semantic,
  type StatusResponseSchema,
} from '../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { rpcService, type RpcService } from '../rpc/handlers.js'
import { pageHits, passages } from './answers.js'
import type { Metrics } from './metrics.js'

const ITEMS = 60
const MAX_ITEMS = 200
const PASSAGES = 8
const MAX_PASSAGES = 100
/** The maximum number of characters of a question; the rest is ignored. People type less, and longer ones would delay others. */
const LONGEST_QUESTION = 2_000

const RANKINGS = { lexical: Ranking.LEXICAL, hybrid: Ranking.HYBRID }
const SEMANTIC: Readonly<Record<SemanticState, StatusResponse_Semantic>> = {
  loading: StatusResponse_Semantic.LOADING,
  ready: StatusResponse_Semantic.READY,
  unavailable: StatusResponse_Semantic.UNAVAILABLE,
}

/** Returns the gRPC service of the worker. */
export function retrievalService(retrieval: Retrieval, metrics: Metrics): RpcService {
  /** Looks up a query, makes its answer, and records the duration. */
  const answered = async <T>(
    method: string,
    query: string,
    answer: (lookup: Lookup) => T,
    accept?: (page: Page) => boolean,
  ): Promise<T & { ranking: Ranking }> => {
    const from = performance.now()
    const lookup = await retrieval.lookUp(query.slice(0, LONGEST_QUESTION), accept)
    const made = { ...answer(lookup), ranking: RANKINGS[lookup.ranking] }
    metrics.observe(method, lookup.ranking, (performance.now() - from) / 1000)
    return made
  }
  return rpcService(RetrievalService, {
    search: ({ query, limit, tag }) => {
      const most = Math.min(limit === 0 ? ITEMS : limit, MAX_ITEMS)
      const hasTag = tag === '' ? undefined : ({ tags }: Page): boolean => tags.includes(tag)
      return answered('search', query, (lookup) => ({ pages: pageHits(lookup, most) }), hasTag)
    },
    passages: ({ query, limit }) => {
      const most = Math.min(limit === 0 ? PASSAGES : limit, MAX_PASSAGES)
      return answered('passages', query, (lookup) => ({
        passages: passages(lookup, most),
        unknownNames: unknownNames(lookup.parsed.question, lookup.snapshot),
      }))
    },
    status: () => statusMessage(retrieval),
  })
}

function statusMessage(retrieval: Retrieval): MessageInitShape<typeof StatusResponseSchema> {
  const { pages, chunks, semantic, reason, indexBuiltMs, indexStale } = retrieval.status()
  return {
    pages,
    chunks,
    semantic: SEMANTIC[semantic],
    semanticReason: reason,
    indexBuiltMs: BigInt(indexBuiltMs),
    indexStale,
  }
}
