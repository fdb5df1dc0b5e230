import { blockTag } from '../../../../pipelines/chain/block.js'
import { Cancellation } from '../../core/tables/cancellation.js'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import type { CachedAnswer, Representation } from '../../core/answering/cached-answer.js'
import { codingFor, type Coding, LEAST_COMPRESSED, preferredCoding } from '../../../content-coding.js'
import { type Encoding, JSON_ENCODING, matchesTag, type Media } from '../../core/answering/encoding.js'
import { type Failure, overLimit, OVERLOADED } from '../../core/answering/failure.js'
import { parseArguments } from '../../core/reads/arguments.js'
import { argumentsOf, BAD_BODY, BAD_TX_BODY, hexArgument, MAX_BODY } from '../../http/body.js'
import { type Broadcast, send, sendTransaction } from '../../core/commands/send-transaction.js'
import { TxRejected } from '../../core/node/broadcaster.js'
import { addressHistoryCsv, beginHistoryCsv } from '../../faces/rest/history-csv.js'
import { Documents } from '../../faces/rest/description/documents.js'
import type { Health } from '../../core/health/health.js'
import type { Metrics } from '../metrics.js'
import type { Logger } from '../../../../pipelines/logger.js'
import {
  type Outcome,
  Reader,
  type ReaderParts,
  type ReadRequest,
  type Success,
} from '../../core/answering/reader.js'
import type { Read } from '../../core/reads/read.js'
import type { ChainState } from '../../core/state/state.js'
import { Resource } from '../../http/resource.js'
import { API, apiRoutes, type Matched, POST, type Route, Router } from '../../http/router.js'
import { asksForHtml, prefersJson } from '../../http/accept.js'
import {
  type Answer,
  chainHeaders,
  type Endpoint,
  errorAnswer,
  failureAnswer,
  type Headers,
  JSON_TYPE,
  jsonAnswer,
  type MatchedPage,
  NO_STORE,
  type PageRequest,
  type Pages,
  preflight,
  type Request,
  type RequestHead,
  unknownRoute,
  urlOf,
  wrongMethod,
} from '../../http/answer.js'

export interface DispatcherParts extends ReaderParts {
  readonly reads: readonly Read[]
  /** Further endpoints by path. */
  readonly endpoints?: Readonly<Record<string, Endpoint>>
  readonly health: () => Health
  readonly metrics: Metrics
  /** Returns the text of `/metrics`. Not set: that of `metrics`. */
  readonly metricsText?: (() => ReturnType<Metrics['text']>) | undefined
  readonly logger: Logger
  /** Not set: there are no pages, only the API. */
  readonly pages?: Pages | undefined
  /** The path below which clients reach the explorer. */
  readonly basePath?: string | undefined
  /** Not set: transactions are not broadcast. */
  readonly broadcast?: Broadcast | undefined
}

const BROADCAST: Route = { pattern: API + sendTransaction.path, target: 'broadcast', methods: POST }
/** The maximum size of the body of a read: far more than its arguments need. */
const MAX_READ_BODY = 256 * 1024
/** The maximum number of files that are sent at the same time. */
const MAX_EXPORTS = 16
const CSV_TYPE = ['content-type', 'text/csv; charset=utf-8'] as const
/** The maximum number of characters of a URL; the longest valid one has a few hundred. */
const MAX_URL = 8_192

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
  readonly #documents: Documents
  /** Answers the reads, for all transports. */
  readonly reader: Reader
  #stateHeaders: StateHeaders | undefined
  /** The refusals under overload by the pattern of their route. */
  readonly #refusals = new Map<string, Answer>()
  /** The number of files that are being sent. */
  #exports = 0

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    const { reads, token, broadcast } = parts
    this.#router = new Router([...apiRoutes(reads), ...(broadcast === undefined ? [] : [BROADCAST])])
    this.#documents = new Documents(reads, {
      hasToken: token !== undefined,
      hasBroadcast: broadcast !== undefined,
      basePath: parts.basePath,
    })
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
    const [token, origin] = [request.authorization(), request.origin()]
    const maxBodyBytes = this.#maxBodyBytes(request)
    // Read now: what arrives meanwhile would be lost.
    const body = maxBodyBytes === undefined ? undefined : request.body(maxBodyBytes)
    const later = {
      ...{ ...request, authorization: () => token, origin: () => origin },
      ...(body === undefined ? {} : { body: () => body }),
    }
    try {
      return (await refusal) ?? (await this.#answer(later))
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /**
   * Returns the answer to a GET or HEAD request if it was sent before and is still valid: found by the URL alone, without parsing it,
   * and without anything to be made. This is the path of most requests, so it allocates nothing. Under overload also the refusal,
   * which is then the answer of most requests.
   * @returns undefined if `answer` must be called.
   */
  ready(url: string, head: RequestHead): Answer | undefined {
    const { reader } = this
    const cached = reader.atUrl(url)
    if (cached === undefined) return reader.isFull ? this.#shed(url, head) : undefined
    if (head.getHeader('if-none-match') !== '' || head.getHeader('x-min-chain-height') !== '')
      return undefined
    if (cached.media !== undefined && !isFor(cached.media, head)) return undefined
    const isCoded = cached.body.length >= LEAST_COMPRESSED
    const coding = isCoded ? preferredCoding(head.getHeader('accept-encoding')) : undefined
    const made = cached.inCoding(coding)
    if (made === undefined) return undefined
    const limited = this.#limited(url, head)
    if (limited !== undefined) return limited === 'undecided' ? undefined : limited
    reader.sent(cached)
    return this.#prepared(made, cached, reader.chain)
  }

  /** Counts a request against the rate limit, without other processes. @returns the refusal if its client has exceeded the limit. */
  #limited(url: string, head: RequestHead): Answer | 'undecided' | undefined {
    const { reader } = this
    const failure = reader.isLimited ? reader.overLimitNow(() => head.origin()) : undefined
    return typeof failure === 'object' ? this.#refused(failure, pageRequest(url, head)) : failure
  }

  /**
   * Returns the refusal of a GET or HEAD request for a read under overload. It is far cheaper than the way of all other requests, so
   * that most of the processor time remains for those that are answered.
   * @returns undefined if `answer` must be called.
   */
  #shed(url: string, head: RequestHead): Answer | undefined {
    const end = url.indexOf('?')
    const matched = this.#match(end < 0 ? url : url.slice(0, end))
    if (matched === undefined || url.length > MAX_URL) return undefined
    const { target, pattern } = matched.route
    if (typeof target === 'string' || target.method === 'POST') return undefined
    const argument = argumentsOfUrl(matched.params, { query: end < 0 ? '' : url.slice(end + 1) })
    if (head.getHeader('x-min-chain-height') !== '' || !this.reader.refuses(target, argument))
      return undefined
    const limited = this.#limited(url, head)
    if (limited !== undefined) return limited === 'undecided' ? undefined : limited
    let refusal = this.#refusals.get(pattern)
    if (refusal === undefined) this.#refusals.set(pattern, (refusal = { ...REFUSAL, route: pattern }))
    return refusal
  }

  /** Counts a request against the rate limit. @returns the refusal if its client has exceeded the limit. */
  refusal(request: Request): Answer | undefined | Promise<Answer | undefined> {
    const isLimited =
      isUnder(API, request.path) ||
      (this.#endpointOf(request)?.isLimited ?? this.#pageOf(request) !== undefined)
    if (request.method === 'OPTIONS' || !isLimited) return undefined
    const failure = this.reader.overLimit(request.origin)
    const refused = (made: Failure | undefined): Answer | undefined =>
      made === undefined ? undefined : this.#refused(made, request)
    return failure instanceof Promise ? failure.then(refused) : refused(failure)
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
    const endpoint = this.#endpointOf(request)
    if (endpoint !== undefined) return this.#endpoint(endpoint, request)
    const page = this.#pageOf(request)
    if (page !== undefined) return this.#page(page, request)
    const matched = this.#match(request.path)
    if (matched === undefined || (this.#parts.broadcast === undefined && isBroadcast(request)))
      return this.#unknown(request)
    const { target, methods } = matched.route
    if (request.method === 'OPTIONS') return preflight(methods)
    if (!methods.split(', ').includes(request.method)) return wrongMethod(request, methods)
    if (target === 'health') return this.#health()
    if (target === 'metrics') return this.#metrics(request)
    if (target === 'openapi' || target === 'asyncapi') return this.#documents.of(target).answer(request)
    if (target === 'history') return this.#history(matched.params['address'] ?? '', request)
    if (target === 'broadcast') return this.#send(request)
    if (target === 'socket')
      return errorAnswer('HW_UPGRADE_REQUIRED', 'Upgrade Required', [['upgrade', 'websocket']])
    return this.#read(target, matched.params, request)
  }

  /** The description of the API, in OpenAPI 3.1: JSON. */
  get openApi(): string {
    return this.#documents.of('openapi').body.toString()
  }

  /** Returns the route pattern of a path, for metrics: paths themselves would be an unbounded set of label values. */
  patternOf(path: string): string {
    if (this.#endpointOf({ path }) !== undefined) return path
    const page = this.#parts.pages?.match({ path, accept: '', acceptLanguage: '' })
    return (this.#match(path) ?? page)?.route.pattern ?? 'unknown'
  }

  /** Finds a route of the API. A slash at the end is ignored, as by most servers. */
  #match(path: string): Matched | undefined {
    return this.#router.match(withoutSlash(path))
  }

  #pageOf(request: PageRequest): MatchedPage | undefined {
    return this.#parts.pages?.match(request)
  }

  /** Answers a request for a path that does not exist: with a page if the client asks for one. A page has no slash at its end. */
  #unknown(request: Request): Answer {
    const { pages } = this.#parts
    const { method, path, query } = request
    const isForPage = (method === 'GET' || method === 'HEAD') && !isUnder(API, path)
    if (pages === undefined || !isForPage) return unknownRoute(request)
    const target = path.replace(/\/+$/, '')
    const page = target === path ? undefined : pages.match({ ...request, path: target })
    if (page !== undefined) return pages.moved(urlOf({ path: target, query }), page.route.pattern)
    if (asksForHtml(request.accept))
      return pages.failed({ code: 'HW_NOT_FOUND', message: 'Not Found' }, request, this.reader.chain)
    const unknown = unknownRoute(request)
    return { ...unknown, headers: [...unknown.headers, ['vary', 'accept']] }
  }

  /** Answers with a page. Other methods than those of pages are for the API, which knows no such route. */
  #page({ read, params, encoding }: MatchedPage, request: Request): Answer | Promise<Answer> {
    if (request.method !== 'GET' && request.method !== 'HEAD') return unknownRoute(request)
    return this.#readWith(argumentsOfUrl(params, request), read, request, encoding)
  }

  /** Returns the answer for a failure: a page if the request is for one. */
  #refused(failure: Failure, request: PageRequest): Answer {
    const { pages } = this.#parts
    if (pages === undefined || this.#pageOf(request) === undefined)
      return failure === OVERLOADED ? REFUSAL : failureAnswer(failure)
    return pages.failed(failure, request, this.reader.chain)
  }

  /** Returns the maximum size of the body that a request may have; undefined if its body is not read. */
  #maxBodyBytes(request: Request): number | undefined {
    const endpoint = this.#endpointOf(request)
    if (endpoint !== undefined || request.method !== 'POST') return endpoint?.maxBodyBytes
    const route = this.#match(request.path)?.route
    if (route?.methods !== POST) return undefined
    return route === BROADCAST ? MAX_BODY : MAX_READ_BODY
  }

  #endpointOf(request: Pick<Request, 'path'>): Endpoint | undefined {
    const { endpoints = {} } = this.#parts
    const path = withoutSlash(request.path)
    return Object.hasOwn(endpoints, path) ? endpoints[path] : this.#parts.pages?.endpointOf(path)
  }

  #endpoint(endpoint: Endpoint, request: Request): Answer | Promise<Answer> {
    const { methods } = endpoint
    if (request.method === 'OPTIONS') return preflight(methods)
    if (!methods.split(', ').includes(request.method)) return wrongMethod(request, methods)
    const made = endpoint.answer(request)
    return made instanceof Promise ? made.catch((error: unknown) => this.#failed(error, request)) : made
  }

  #read(read: Read, params: Matched['params'], request: Request): Answer | Promise<Answer> {
    if (read.method === 'POST') return this.#readOfBody(read, request)
    return this.#readWith(argumentsOfUrl(params, request), read, request)
  }

  /** Answers a read whose arguments are in the body. */
  async #readOfBody(read: Read, request: Request): Promise<Answer> {
    const [token, origin] = [request.authorization(), request.origin()]
    const body = await request.body(MAX_READ_BODY)
    if (body === undefined) return errorAnswer('HW_BODY_TOO_LARGE', 'Body too large')
    const argument = argumentsOf(body)
    if (argument === undefined) return errorAnswer('HW_INVALID_ARGUMENT', BAD_BODY)
    try {
      const later = { ...request, authorization: () => token, origin: () => origin }
      return await this.#readWith(argument, read, later)
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /** Answers with the history of an address as a file. */
  async #history(given: string, request: Request): Promise<Answer> {
    if (this.#exports >= MAX_EXPORTS) return REFUSAL
    const { state } = this.#parts
    const gone = new Cancellation()
    request.onDisconnect(() => {
      gone.abort(new DatabaseUnavailable('the client has disconnected'))
    })
    try {
      const { address } = parseArguments(addressHistoryCsv.args, () => decodeSegment(given)) as {
        address: string
      }
      const context = await this.reader.begin(request.minChainHeight, gone)
      if ('code' in context) return failureAnswer(context)
      const { chain } = context
      const { isEmpty, parts } = await beginHistoryCsv(context, address, {
        isOnChain: ({ height, hash }) => state.chain.blocks.has(height, blockTag(hash)),
      })
      const behind = isEmpty ? this.reader.ifBehind(chain) : undefined
      if (behind !== undefined) return failureAnswer(behind)
      const name = `attachment; filename="${address}.csv"`
      const headers = [CSV_TYPE, ['content-disposition', name] as const, NO_STORE, ...chainHeaders(chain)]
      return { status: 200, headers, body: Buffer.alloc(0), parts: this.#counted(parts) }
    } catch (error) {
      return this.#failureAnswer(error, request)
    }
  }

  async *#counted(parts: AsyncGenerator<string>): AsyncGenerator<string> {
    this.#exports++
    try {
      yield* parts
    } catch (error) {
      this.#report(error, addressHistoryCsv.path)
      throw error
    } finally {
      this.#exports--
    }
  }

  async #send(request: Request): Promise<Answer> {
    const { broadcast, state, tables } = this.#parts
    if (broadcast === undefined) return unknownRoute(request)
    const { limit } = broadcast
    const taking = limit?.take(request.origin())
    const reading = typeof taking === 'number' ? undefined : request.body(MAX_BODY)
    const retryMs = await taking
    if (retryMs !== undefined && limit !== undefined) return failureAnswer(overLimit(retryMs, limit.policy))
    const body = await reading
    if (body === undefined) return errorAnswer('HW_BODY_TOO_LARGE', 'Body too large')
    const argument = argumentsOf(body) ?? hexArgument(body)
    if (argument === undefined) return errorAnswer('HW_INVALID_ARGUMENT', BAD_TX_BODY)
    try {
      return jsonAnswer(200, await send(argument, broadcast, { state, tables }), [NO_STORE])
    } catch (error) {
      if (error instanceof TxRejected) return errorAnswer(error.code, error.message)
      return this.#failureAnswer(error, request)
    }
  }

  #failureAnswer(error: unknown, request: Request): Answer {
    try {
      return failureAnswer(this.reader.failureOf(error))
    } catch {
      return this.#failed(error, request)
    }
  }

  #readWith(
    argument: ReadRequest['argument'],
    read: Read,
    request: Request,
    encoding: Encoding = JSON_ENCODING,
  ): Answer | Promise<Answer> {
    const { minChainHeight, onDisconnect, authorization } = request
    const charge = (requests: number) => this.reader.overLimit(request.origin, requests)
    const options = { argument, minChainHeight, onDisconnect, authorization, charge, encoding }
    const outcome = this.reader.answer(read, options)
    const answer =
      outcome instanceof Promise
        ? outcome.then((made) => this.#toAnswer(made, request))
        : this.#toAnswer(outcome, request)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((error: unknown) => this.#failed(error, request))
  }

  #toAnswer(outcome: Outcome, request: Request): Answer | Promise<Answer> {
    if (!('answer' in outcome)) return this.#refused(outcome, request)
    const { answer, chain } = outcome
    if (chain === undefined) {
      const type = answer.media === undefined ? JSON_TYPE : (['content-type', answer.media.type] as const)
      const vary = answer.media === undefined ? [] : [varyOf(answer)]
      return { status: 200, headers: [type, NO_STORE, ...vary], body: answer.body, ...policyOf(answer) }
    }
    if (request.method !== 'POST') this.reader.link(outcome, urlOf(request))
    const made = this.reader.inCoding(outcome, codingOf(outcome, request))
    const toAnswer = (representation: Representation): Answer =>
      this.#successful(representation, answer, chain, request)
    return made instanceof Promise ? made.then(toAnswer) : toAnswer(made)
  }

  #successful(
    made: Representation,
    cached: CachedAnswer,
    chain: ChainState,
    { ifNoneMatch, method }: Request,
  ): Answer {
    const answer = this.#prepared(made, cached, chain)
    if (ifNoneMatch === '' || method === 'POST' || !matchesTag(ifNoneMatch, made.etag)) return answer
    const headers = [['etag', made.etag] as const, varyOf(cached), ...answer.headers.slice(-1)]
    return { status: 304, headers, body: made.body, ...policyOf(cached) }
  }

  /** Returns the answer of a representation, made once for each state that it is sent in. */
  #prepared(made: Representation, cached: CachedAnswer, chain: ChainState): Answer {
    if (this.#stateHeaders?.chain !== chain) this.#stateHeaders = stateHeaders(chain)
    const headers = this.#stateHeaders
    const before = made.prepared as Prepared | undefined
    if (before?.headers === headers) return before.answer
    const { path, finalFrom, media } = cached
    const isFinal = finalFrom <= (chain.view?.head.finalHeight ?? -1)
    const answer: Answer = {
      status: 200,
      route: media === undefined ? API + path : path,
      headers: [
        before?.answer.headers[0] ?? bodyHeaders(made, cached),
        isFinal ? headers.final : headers.changing,
      ],
      body: made.body,
      ...policyOf(cached),
    }
    made.prepared = { headers, answer } satisfies Prepared
    return answer
  }

  #failed(error: unknown, request: Request): Answer {
    this.#report(error, this.patternOf(request.path))
    const { pages } = this.#parts
    if (pages?.match(request) !== undefined)
      return pages.failed({ code: 'HW_DEFECT', message: 'Internal Server Error' }, request, this.reader.chain)
    return errorAnswer('HW_DEFECT', 'Internal Server Error')
  }

  #report(error: unknown, what: string): void {
    this.#parts.metrics.defect('http')
    this.#parts.logger.error({ err: error, what }, 'read failed')
  }

  #health(): Answer {
    const health = this.#parts.health()
    return jsonAnswer(health.status === 'ok' ? 200 : 503, health, [NO_STORE])
  }

  async #metrics(request: Request): Promise<Answer> {
    const { metrics, metricsText = () => metrics.text(), logger } = this.#parts
    try {
      const { text, type } = await metricsText()
      const headers = [['content-type', type], ['vary', 'accept-encoding'], NO_STORE] as const
      return await new Resource(Buffer.from(text), headers).answer(request)
    } catch (error) {
      logger.error({ err: error }, 'cannot collect metrics')
      return errorAnswer('HW_DEFECT', 'Internal Server Error')
    }
  }
}

/** Decodes a segment of a path. A malformed one stays as it is, so that the validation of the argument rejects it. */
function decodeSegment(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the headers of a state for its answers. */
function stateHeaders(chain: ChainState): StateHeaders {
  const of = (cacheControl: string) => joined([...chainHeaders(chain), ['cache-control', cacheControl]])
  return { chain, changing: of('no-cache'), final: of(FINAL) }
}

/** Returns one or more headers as one, whose value has line breaks: each call of writeHeader has a cost. */
const joined = (headers: Headers): Headers[number] =>
  headers.reduce(([first, lines], [name, value]) => [first, `${lines}\r\n${name}: ${value}`])

/** Returns the headers of a representation as one. */
function bodyHeaders({ coding, etag }: Representation, cached: CachedAnswer): Headers[number] {
  const [name, json] = JSON_TYPE
  return joined([
    [name, cached.media?.type ?? json],
    ['etag', etag],
    varyOf(cached),
    ...(coding === undefined ? [] : [['content-encoding', coding] as const]),
  ])
}

const varyOf = ({ media }: CachedAnswer) =>
  ['vary', media === undefined ? VARY : `accept, accept-language, ${VARY}`] as const

const policyOf = ({ media }: CachedAnswer): { policy?: string } =>
  media === undefined ? {} : { policy: media.policy }

/** Returns whether a client that asks for the URL of a page accepts this one. */
const isFor = (media: Media, head: RequestHead): boolean =>
  !prefersJson(head.getHeader('accept')) && media.isFor(head.getHeader('accept-language'))

const pageRequest = (url: string, head: RequestHead): PageRequest => ({
  path: url.split('?', 1)[0] ?? '',
  accept: head.getHeader('accept'),
  acceptLanguage: head.getHeader('accept-language'),
})

/** Returns the function that reads an argument from the path or the query. */
function argumentsOfUrl(
  params: Matched['params'],
  { query }: Pick<Request, 'query'>,
): ReadRequest['argument'] {
  const given = query === '' ? undefined : new URLSearchParams(query)
  return (name) => {
    const inPath = params[name]
    return inPath === undefined ? (given?.get(name) ?? undefined) : decodeSegment(inPath)
  }
}

const codingOf = ({ answer }: Success, { acceptEncoding }: Request): Coding | undefined =>
  codingFor(answer.body, acceptEncoding)

/** Returns whether a request sends a transaction, as to the live service. It gets 404: 405 would suggest that the route exists. */
function isBroadcast({ method, path }: Request): boolean {
  return method === 'POST' && withoutSlash(path) === API + sendTransaction.path
}

const withoutSlash = (path: string): string =>
  path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path

const isUnder = (folder: string, path: string): boolean =>
  path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/')

const refusalOf = (failure: Failure | undefined): Answer | undefined =>
  failure === undefined ? undefined : failureAnswer(failure)

/** The answer to requests under overload, created once, with its headers as one value: a refusal must cost next to nothing. */
const REFUSAL: Answer = { ...failureAnswer(OVERLOADED), headers: [joined(failureAnswer(OVERLOADED).headers)] }
