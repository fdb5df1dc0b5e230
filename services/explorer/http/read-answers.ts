import { LEAST_COMPRESSED } from '../../compression.js'
import { codingFor, preferredCoding } from '../../http/content-coding.js'
import { matchesTag } from '../../http/etag.js'
import type { CachedAnswer, Representation } from '../core/answering/cached-answer.js'
import { type Encoding, JSON_ENCODING } from '../core/answering/encoding.js'
import type { Failure } from '../core/answering/failure.js'
import type { Outcome, Reader, ReadRequest, Success } from '../core/answering/reader.js'
import type { Read } from '../core/reads/read.js'
import type { ChainState } from '../core/state/state.js'
import { prefersJson } from './accept.js'
import {
  type Answer,
  API,
  chainHeaders,
  type Headers,
  joined,
  JSON_TYPE,
  NO_STORE,
  type Request,
  type RequestHead,
  urlOf,
} from './answer.js'
import { mediaOf } from './media.js'

/**
 * An answer that does not change any more may be kept by browsers and CDNs. Not longer, because a reorganisation below the final
 * height, a changed label of a miner, or a new field of a later version reaches their clients only afterwards.
 */
const FINAL = 'public, max-age=86400'
/** The request headers that choose an answer, besides If-None-Match. */
const VARY = 'accept-encoding, x-min-chain-height'

/** The headers that identify a state, as one value with line breaks after the name of the first. */
interface StateHeaders {
  readonly chain: Pick<ChainState, 'height' | 'tipHash'>
  readonly changing: Headers[number]
  readonly final: Headers[number]
  readonly private: Headers[number]
}

/** An answer from the cache, and the state in which it was prepared. */
interface Prepared {
  readonly present: StateHeaders
  readonly answer: Answer
}

/** A read that a request asks for. */
export interface WantedRead {
  readonly read: Read
  readonly argument: ReadRequest['argument']
  /** Not set: JSON. */
  readonly encoding?: Encoding | undefined
  /** Returns the answer for a failure. */
  readonly failed: (failure: Failure) => Answer
}

/** Answers requests of HTTP with reads: chooses coding and ETag, and adds the headers of the state. */
export class ReadAnswers {
  #stateHeaders: StateHeaders | undefined

  /**
   * @param limit counts the requests of clients. Not set: the limit of the reader.
   * @param scope begins the keys of answers by URL: servers with the same paths for different answers have one each. No part of a URL.
   */
  constructor(
    private readonly reader: Reader,
    readonly limit = reader.limit,
    private readonly scope = '',
  ) {}

  /** Returns an answer that was sent under this URL before and is still valid. Call `reader.countHit` if it is sent again. */
  atUrl(url: string): CachedAnswer | undefined {
    return this.reader.atUrl(this.scope === '' ? url : this.scope + url)
  }

  /** Answers a request with a read, synchronously if the answer is in memory. @throws only defects, also by rejecting. */
  answer(
    request: Request,
    { read, argument, encoding = JSON_ENCODING, failed }: WantedRead,
  ): Answer | Promise<Answer> {
    const { minChainHeight, onDisconnect, authorization } = request
    const charge = (requests: number) => this.limit.over(request.origin, requests)
    const options = { argument, minChainHeight, onDisconnect, authorization, charge, encoding }
    const outcome = this.reader.answer(read, options)
    return outcome instanceof Promise
      ? outcome.then((result) => this.#toAnswer(result, request, failed))
      : this.#toAnswer(outcome, request, failed)
  }

  /** Finds the representation of an answer in memory that a request of its URL gets. @returns undefined if it has to be made. */
  representationFor(cached: CachedAnswer, head: RequestHead): Representation | undefined {
    if (head.getHeader('if-none-match') !== '' || head.getHeader('x-min-chain-height') !== '')
      return undefined
    const media = mediaOf(cached)
    const isFor =
      media?.isFor === undefined ||
      (!prefersJson(head.getHeader('accept')) && media.isFor(head.getHeader('accept-language')))
    if (!isFor) return undefined
    const isCoded = cached.body.length >= LEAST_COMPRESSED && media?.isCompressed !== true
    return cached.inCoding(isCoded ? preferredCoding(head.getHeader('accept-encoding')) : undefined)
  }

  /** Returns the answer with a representation, created once for each state that it is sent in. */
  answerWith(representation: Representation, cached: CachedAnswer): Answer {
    return this.#answerWith(representation, cached, this.reader.chain)
  }

  #answerWith(representation: Representation, cached: CachedAnswer, chain: ChainState): Answer {
    if (this.#stateHeaders?.chain !== chain) this.#stateHeaders = stateHeaders(chain)
    const present = this.#stateHeaders
    const before = representation.prepared as Prepared | undefined
    if (before?.present === present) return before.answer
    const { path, finalFrom, past } = cached
    const headers = past === undefined ? present : stateHeaders(past)
    const media = mediaOf(cached)
    const isFinal = finalFrom <= (chain.view?.head.finalHeight ?? -1)
    const answer: Answer = {
      status: 200,
      route: (media === undefined ? API : (media.prefix ?? '')) + path,
      headers: [
        before?.answer.headers[0] ?? bodyHeaders(representation, cached),
        cached.isPrivate ? headers.private : isFinal ? headers.final : headers.changing,
      ],
      body: representation.body,
      ...policyOf(cached),
    }
    representation.prepared = { present, answer } satisfies Prepared
    return answer
  }

  #toAnswer(outcome: Outcome, request: Request, failed: WantedRead['failed']): Answer | Promise<Answer> {
    if (!('answer' in outcome)) return failed(outcome)
    const { answer, chain } = outcome
    if (chain === undefined) return outsideAnswer(answer)
    if (request.method !== 'POST') this.reader.link(outcome, this.scope + urlOf(request))
    const representation = this.reader.inCoding(outcome, codingOf(outcome, request))
    return representation instanceof Promise
      ? representation.then((result) => this.#successful(result, answer, chain, request))
      : this.#successful(representation, answer, chain, request)
  }

  #successful(
    representation: Representation,
    cached: CachedAnswer,
    chain: ChainState,
    { ifNoneMatch, method }: Request,
  ): Answer {
    const answer = this.#answerWith(representation, cached, chain)
    const { etag, body } = representation
    if (ifNoneMatch === '' || method === 'POST' || !matchesTag(ifNoneMatch, etag)) return answer
    const headers = [['etag', etag] as const, varyOf(cached), ...answer.headers.slice(-1)]
    return { status: 304, headers, body, ...policyOf(cached) }
  }
}

const codingOf = ({ answer }: Success, { acceptEncoding }: Request) =>
  mediaOf(answer)?.isCompressed === true ? undefined : codingFor(answer.body, acceptEncoding)

/** Returns the answer of a read that does not describe a state of the chain. */
function outsideAnswer(answer: CachedAnswer): Answer {
  const media = mediaOf(answer)
  const headers = media === undefined ? [JSON_TYPE] : [['content-type', media.type] as const, varyOf(answer)]
  return { status: 200, headers: [...headers, NO_STORE], body: answer.body, ...policyOf(answer) }
}

/** Returns the headers of a state for its answers. */
function stateHeaders(chain: StateHeaders['chain']): StateHeaders {
  const of = (cacheControl: string) => joined([...chainHeaders(chain), ['cache-control', cacheControl]])
  return { chain, changing: of('no-cache'), final: of(FINAL), private: of('no-store') }
}

/** Returns the headers of a representation as one. */
function bodyHeaders({ coding, etag }: Representation, cached: CachedAnswer): Headers[number] {
  const [name, json] = JSON_TYPE
  return joined([
    [name, mediaOf(cached)?.type ?? json],
    ['etag', etag],
    varyOf(cached),
    ...(coding === undefined ? [] : [['content-encoding', coding] as const]),
  ])
}

const varyOf = (answer: CachedAnswer) =>
  ['vary', mediaOf(answer)?.isFor === undefined ? VARY : `accept, accept-language, ${VARY}`] as const

function policyOf(answer: CachedAnswer): { policy?: string } {
  const policy = mediaOf(answer)?.policy
  return policy === undefined ? {} : { policy }
}
