import { type ClientError, errorBody, HTTP_STATUS } from '../../../pipelines/errors.js'
import type { CachedAnswer, Representation } from '../answering/cached-answer.js'
import { type Coding, LEAST_COMPRESSED, preferredCoding } from '../answering/content-coding.js'
import { JSON_ENCODING, matchesTag } from '../answering/encoding.js'
import { type Failure, OVERLOADED } from '../answering/failure.js'
import type { Origin } from '../../limits/client-address.js'
import type { Health } from '../health/health.js'
import type { Metrics, Observed } from '../health/metrics.js'
import type { Logger } from '../../../pipelines/logger.js'
import { type Outcome, Reader, type ReaderParts, type Success } from '../answering/reader.js'
import type { Read } from '../reads/read.js'
import type { ChainState } from '../state/state.js'
import { API, type Matched, Router } from './router.js'
import type { OnDisconnect } from '../answering/shared-answer.js'

export interface Request {
  /** In upper case. */
  readonly method: string
  /** Percent-encoded, without the query. */
  readonly path: string
  readonly query: string
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
  readonly minChainHeight: string
  readonly onDisconnect: OnDisconnect
  /** Reads the header `authorization`. Like `origin`, valid only while the request is being handed over, not later. */
  readonly authorization: () => string
  readonly origin: () => Origin
}

/** The head of a request that is being handed over. */
export interface RequestHead {
  /** Returns a header, empty if there is none. @param name in lower case. */
  getHeader(name: string): string
  origin(): Origin
}

export interface Answer extends Observed {
  readonly headers: readonly (readonly [string, string])[]
  /** For status 304 the body that is not sent: only its length is. */
  readonly body: Buffer
}

export interface DispatcherParts extends ReaderParts {
  readonly reads: readonly Read[]
  readonly health: () => Health
  readonly metrics: Metrics
  /** Returns the text of `/metrics`. Not set: that of `metrics`. */
  readonly metricsText?: (() => ReturnType<Metrics['text']>) | undefined
  readonly logger: Logger
}

const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'] as const
const NO_STORE = ['cache-control', 'no-store'] as const
/** The maximum number of characters of a URL; the longest valid one has a few hundred. */
const MAX_URL = 8_192
const METHODS = 'GET, HEAD, OPTIONS'
/** The answer to OPTIONS: CORS preflight requests of browsers. */
const PREFLIGHT: Answer = {
  status: 204,
  headers: [
    ['allow', METHODS],
    ['access-control-allow-methods', METHODS],
    ['access-control-allow-headers', 'authorization, if-none-match, x-min-chain-height'],
    ['access-control-max-age', '86400'],
  ],
  body: Buffer.alloc(0),
}

/**
 * An answer that does not change any more may be kept by browsers and CDNs. Not longer, because a reorganisation below the final
 * height, a changed label of a miner, or a new field of a later version reaches their clients only afterwards.
 */
const FINAL = 'public, max-age=86400'
/** The request headers that choose an answer, besides If-None-Match. */
const VARY = 'accept-encoding, x-min-chain-height'

/** The headers that identify a state, as one value with line breaks after the name of the first. */
interface StateHeaders {
  readonly chain: ChainState
  readonly changing: Headers[number]
  readonly final: Headers[number]
}

/** An answer from the cache, as of a state. */
interface Prepared {
  readonly headers: StateHeaders
  readonly answer: Answer
}

/** Routes HTTP requests to their answers. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #router: Router
  /** Answers the reads, for all transports. */
  readonly reader: Reader
  #stateHeaders: StateHeaders | undefined

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#router = new Router(parts.reads)
    this.reader = new Reader(parts)
  }

  /** Returns the answer to a request, synchronously if it is in memory. Never throws or rejects. */
  answer(request: Request): Answer | Promise<Answer> {
    try {
      const refusal = this.refusal(request)
      return refusal instanceof Promise
        ? this.#answerLater(refusal, request)
        : (refusal ?? this.#answer(request))
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /** Answers a request after the rate limit was checked in another process. */
  async #answerLater(refusal: Promise<Answer | undefined>, request: Request): Promise<Answer> {
    const token = request.authorization()
    try {
      return (await refusal) ?? (await this.#answer({ ...request, authorization: () => token }))
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /**
   * Returns the answer to a GET or HEAD request if it was sent before and is still valid: found by the URL alone, without parsing it,
   * and without anything to be made. This is the path of most requests, so it allocates nothing.
   * @returns undefined if `answer` must be called.
   */
  ready(url: string, head: RequestHead): Answer | undefined {
    const { reader } = this
    const cached = reader.atUrl(url)
    if (cached === undefined) return undefined
    if (head.getHeader('if-none-match') !== '' || head.getHeader('x-min-chain-height') !== '')
      return undefined
    const isCoded = cached.body.length >= LEAST_COMPRESSED
    const coding = isCoded ? preferredCoding(head.getHeader('accept-encoding')) : undefined
    const made = cached.inCoding(coding)
    if (made === undefined) return undefined
    if (reader.isLimited) {
      const failure = reader.overLimitNow(() => head.origin())
      if (failure === 'undecided') return undefined
      if (failure !== undefined) return failureAnswer(failure)
    }
    reader.sent(cached)
    return this.#prepared(made, cached, reader.chain)
  }

  /** Counts a request against the rate limit. @returns the refusal if its client has exceeded the limit. */
  refusal({ method, path, origin }: Request): Answer | undefined | Promise<Answer | undefined> {
    if (method === 'OPTIONS' || !isUnder(API, path)) return undefined
    const failure = this.reader.overLimit(origin)
    return failure instanceof Promise ? failure.then(refusalOf) : refusalOf(failure)
  }

  /** Returns the refusal of a WebSocket request, if any. Before the explorer is ready, `since` would get a needless resync. */
  socketRefusal(request: Request): Answer | undefined | Promise<Answer | undefined> {
    const notReady = (): Answer | undefined => refusalOf(this.reader.notReady)
    const refusal = this.refusal(request)
    return refusal instanceof Promise
      ? refusal.then((answer) => answer ?? notReady())
      : (refusal ?? notReady())
  }

  #answer(request: Request): Answer | Promise<Answer> {
    if (request.path.length + request.query.length > MAX_URL)
      return errorAnswer('HW_URI_TOO_LONG', 'URI Too Long')
    const matched = this.#router.match(request.path)
    if (matched === undefined || isBroadcast(request)) return unknownRoute(request)
    if (request.method === 'OPTIONS') return PREFLIGHT
    if (request.method !== 'GET' && request.method !== 'HEAD') return wrongMethod(request)
    const { target } = matched.route
    if (target === 'health') return this.#health()
    if (target === 'metrics') return this.#metrics()
    if (target === 'socket')
      return errorAnswer('HW_UPGRADE_REQUIRED', 'Upgrade Required', [['upgrade', 'websocket']])
    return this.#read(target, matched.params, request)
  }

  /** Returns the route pattern of a path, for metrics: paths themselves would be an unbounded set of label values. */
  patternOf(path: string): string {
    return this.#router.match(path)?.route.pattern ?? 'unknown'
  }

  #read(read: Read, params: Matched['params'], request: Request): Answer | Promise<Answer> {
    const given = request.query === '' ? undefined : new URLSearchParams(request.query)
    const argument = (name: string): string | undefined => {
      const inPath = params[name]
      return inPath === undefined ? (given?.get(name) ?? undefined) : decodeSegment(inPath)
    }
    const { minChainHeight, onDisconnect, authorization } = request
    const options = { argument, minChainHeight, onDisconnect, authorization, encoding: JSON_ENCODING }
    const outcome = this.reader.answer(read, options)
    const answer =
      outcome instanceof Promise
        ? outcome.then((made) => this.#toAnswer(made, request))
        : this.#toAnswer(outcome, request)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((error: unknown) => this.#failed(error, request))
  }

  #toAnswer(outcome: Outcome, request: Request): Answer | Promise<Answer> {
    if (outcome === OVERLOADED) return REFUSAL
    if (!('answer' in outcome)) return failureAnswer(outcome)
    const { answer, chain } = outcome
    if (chain === undefined) return { status: 200, headers: [JSON_TYPE, NO_STORE], body: answer.body }
    this.reader.link(outcome, request.query === '' ? request.path : `${request.path}?${request.query}`)
    const made = this.reader.inCoding(outcome, codingOf(outcome, request))
    const toAnswer = (representation: Representation): Answer =>
      this.#successful(representation, answer, chain, request)
    return made instanceof Promise ? made.then(toAnswer) : toAnswer(made)
  }

  #successful(
    made: Representation,
    cached: CachedAnswer,
    chain: ChainState,
    { ifNoneMatch }: Request,
  ): Answer {
    const answer = this.#prepared(made, cached, chain)
    if (ifNoneMatch === '' || !matchesTag(ifNoneMatch, made.etag)) return answer
    const headers = [['etag', made.etag] as const, ['vary', VARY] as const, ...answer.headers.slice(-1)]
    return { status: 304, headers, body: made.body }
  }

  /** Returns the answer of a representation, made once for each state that it is sent in. */
  #prepared(made: Representation, { path, finalFrom }: CachedAnswer, chain: ChainState): Answer {
    if (this.#stateHeaders?.chain !== chain) this.#stateHeaders = stateHeaders(chain)
    const headers = this.#stateHeaders
    const before = made.prepared as Prepared | undefined
    if (before?.headers === headers) return before.answer
    const isFinal = finalFrom <= (chain.view?.head.finalHeight ?? -1)
    const answer: Answer = {
      status: 200,
      route: API + path,
      headers: [before?.answer.headers[0] ?? bodyHeaders(made), isFinal ? headers.final : headers.changing],
      body: made.body,
    }
    made.prepared = { headers, answer } satisfies Prepared
    return answer
  }

  #failed(error: unknown, { path }: Request): Answer {
    this.#parts.metrics.defect('http')
    this.#parts.logger.error({ err: error, what: this.patternOf(path) }, 'read failed')
    return errorAnswer('HW_DEFECT', 'Internal Server Error')
  }

  #health(): Answer {
    const health = this.#parts.health()
    return jsonAnswer(health.status === 'ok' ? 200 : 503, health, [NO_STORE])
  }

  async #metrics(): Promise<Answer> {
    const { metrics, metricsText = () => metrics.text(), logger } = this.#parts
    try {
      const { text, type } = await metricsText()
      return { status: 200, headers: [['content-type', type]], body: Buffer.from(text) }
    } catch (error) {
      logger.error({ err: error }, 'cannot collect metrics')
      return errorAnswer('HW_DEFECT', 'Internal Server Error')
    }
  }
}

/** Decodes a segment of a path. A malformed one stays as it is, so that the validation of the argument rejects it. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type Headers = readonly (readonly [string, string])[]

const chainHeaders = ({ height, tipHash }: ChainState) =>
  [
    ['x-chain-height', String(height)],
    ['x-chain-tip', tipHash],
  ] as const

/** Returns the headers of a state for its answers, each as one value with line breaks: each call of writeHeader has a cost. */
function stateHeaders(chain: ChainState): StateHeaders {
  const [[name, height], ...others] = chainHeaders(chain)
  const lines = others.map(([other, value]) => `\r\n${other}: ${value}`).join('')
  const of = (cacheControl: string) => [name, `${height}${lines}\r\ncache-control: ${cacheControl}`] as const
  return { chain, changing: of('no-cache'), final: of(FINAL) }
}

/** Returns the headers of a representation as one value with line breaks. */
function bodyHeaders({ coding, etag }: Representation): Headers[number] {
  const [name, type] = JSON_TYPE
  const encoding = coding === undefined ? '' : `\r\ncontent-encoding: ${coding}`
  return [name, `${type}\r\netag: ${etag}\r\nvary: ${VARY}${encoding}`]
}

function codingOf({ answer }: Success, { acceptEncoding }: Request): Coding | undefined {
  return answer.body.length < LEAST_COMPRESSED ? undefined : preferredCoding(acceptEncoding)
}

/** Returns whether a request sends a transaction, as to the live service. It gets 404: 405 would suggest that the route exists. */
function isBroadcast({ method, path }: Request): boolean {
  return method === 'POST' && path === `${API}/tx/send`
}

/** Returns 404 with the body of Fastify, which the live service uses. */
function unknownRoute({ method, path, query }: Request): Answer {
  const url = query === '' ? path : `${path}?${query}`
  const message = `Route ${method}:${url} not found`
  return jsonAnswer(404, { error: 'Not Found', message, statusCode: 404 })
}

function wrongMethod({ method, path }: Request): Answer {
  const message = `Method ${method} is not allowed for ${path}`
  return errorAnswer('HW_METHOD_NOT_ALLOWED', 'Method Not Allowed', [['allow', METHODS]], {
    message,
    statusCode: 405,
  })
}

const isUnder = (folder: string, path: string): boolean =>
  path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/')

const refusalOf = (failure: Failure | undefined): Answer | undefined =>
  failure === undefined ? undefined : failureAnswer(failure)

/** Returns the HTTP answer for a failure. */
export function failureAnswer({ code, message, retryMs, details, chain }: Failure): Answer {
  const headers: Headers = [
    ...(details === undefined ? [] : [NO_STORE]),
    ...(chain === undefined ? [] : chainHeaders(chain)),
    ...(retryMs === undefined ? [] : [['retry-after', String(Math.ceil(retryMs / 1000))] as const]),
    ...(code === 'HW_UNAUTHORIZED' ? [['www-authenticate', 'Bearer'] as const] : []),
  ]
  const answer = errorAnswer(code, message, headers, details)
  return answer.status === 503 ? { ...answer, code } : answer
}

const errorAnswer = (code: ClientError, error: string, headers?: Headers, fields?: object): Answer =>
  jsonAnswer(HTTP_STATUS[code], errorBody(code, error, fields), headers)

function jsonAnswer(status: number, body: object, headers: Headers = []): Answer {
  return { status, headers: [JSON_TYPE, ...headers], body: Buffer.from(JSON.stringify(body)) }
}

/** The answer to requests under overload, created once: a refusal must cost next to nothing. */
const REFUSAL = failureAnswer(OVERLOADED)
