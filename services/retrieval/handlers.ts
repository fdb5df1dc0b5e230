import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Content } from '../../pipelines/content/store.js'
import type { Page } from '../../pipelines/content/page.js'
import type { JobProgress } from '../../pipelines/pace.js'
import { unknownNames } from '../../pipelines/retrieval/words/question.js'
import type {
  Lookup,
  Retrieval,
  RetrievalStatus,
  SemanticState,
} from '../../pipelines/retrieval/retrieval.js'
import {
  Ranking,
  RetrievalService,
  StatusResponse_Semantic,
  type ProgressSchema,
  type StatusResponseSchema,
} from '../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { RpcError } from '../rpc/error.js'
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

/** The index, and the content from which it is made. */
export interface Indexed {
  readonly content: Pick<Content, 'progress' | 'defaultLanguage'>
  /** Undefined until all pages are read. */
  readonly retrieval: Retrieval | undefined
}

/** Returns the gRPC service of the worker. Until all pages are read, its searches fail with UNAVAILABLE. */
export function retrievalService(indexed: Indexed, metrics: Metrics): RpcService {
  /** Looks up a query, makes its answer, and records the duration. */
  const answered = async <T, L extends Lookup>(
    method: string,
    lookUp: (retrieval: Retrieval) => Promise<L>,
    answer: (lookup: L) => T,
  ): Promise<T & { ranking: Ranking }> => {
    const { retrieval } = indexed
    if (retrieval === undefined) throw new RpcError('HW_NOT_READY', 'pages are being read')
    const from = performance.now()
    const lookup = await lookUp(retrieval)
    const message = { ...answer(lookup), ranking: RANKINGS[lookup.ranking] }
    metrics.observe(method, lookup.ranking, (performance.now() - from) / 1000)
    return message
  }
  return rpcService(RetrievalService, {
    search: ({ query, limit, tag, lang }) => {
      const most = Math.min(limit === 0 ? ITEMS : limit, MAX_ITEMS)
      const isAccepted = selected(indexed, tag, lang)
      return answered(
        'search',
        (retrieval) => retrieval.lookUp(query.slice(0, LONGEST_QUESTION), isAccepted),
        (lookup) => ({ pages: pageHits(lookup, most) }),
      )
    },
    passages: ({ query, limit, lang }) => {
      const most = Math.min(limit === 0 ? PASSAGES : limit, MAX_PASSAGES)
      return answered(
        'passages',
        (retrieval) =>
          retrieval.lookUpEvidence(query.slice(0, LONGEST_QUESTION), selected(indexed, '', lang)),
        (lookup) => ({
          passages: passages(lookup, most),
          unknownNames: unknownNames(lookup.parsed.question, lookup.snapshot),
        }),
      )
    },
    status: () => statusMessage(indexed),
  })
}

/** Returns which pages may be among the results; undefined for all. @param lang a BCP 47 tag, `*` for all languages. */
function selected({ content }: Indexed, tag: string, lang: string): ((page: Page) => boolean) | undefined {
  const { defaultLanguage } = content
  const language =
    lang === '*' || defaultLanguage === undefined ? undefined : lang === '' ? defaultLanguage : lang
  if (tag === '' && language === undefined) return undefined
  return ({ tags, lang: own }) =>
    (tag === '' || tags.includes(tag)) && (language === undefined || own === undefined || own === language)
}

/** Returns the status of the index; of an empty index while the pages are being read. */
export function statusOf({ content, retrieval }: Indexed): RetrievalStatus & { reading?: JobProgress } {
  if (retrieval !== undefined) return retrieval.status()
  return {
    pages: 0,
    chunks: 0,
    semantic: 'loading',
    reason: 'the pages are being read',
    indexBuiltMs: 0,
    indexStale: true,
    embedding: { done: 0, total: 0, secondsLeft: undefined },
    reading: content.progress,
  }
}

function statusMessage(indexed: Indexed): MessageInitShape<typeof StatusResponseSchema> {
  const { pages, chunks, semantic, reason, indexBuiltMs, indexStale, reading, embedding } = statusOf(indexed)
  return {
    pages,
    chunks,
    semantic: SEMANTIC[semantic],
    semanticReason: reason,
    indexBuiltMs: BigInt(indexBuiltMs),
    indexStale,
    ...(reading === undefined ? {} : { reading: progressMessage(reading) }),
    ...(embedding.total === 0 ? {} : { embedding: progressMessage(embedding) }),
  }
}

const progressMessage = ({
  done,
  total,
  secondsLeft,
}: JobProgress): MessageInitShape<typeof ProgressSchema> => ({
  done,
  total,
  ...(secondsLeft === undefined ? {} : { secondsLeft }),
})
