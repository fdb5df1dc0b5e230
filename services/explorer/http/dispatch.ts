import { type ClientError, errorBody, HTTP_STATUS } from '../../../pipelines/errors.js'
import { JSON_ENCODING, matchesTag } from '../answering/answer-cache.js'
import { type Failure, OVERLOADED } from '../answering/failure.js'
import type { Origin } from '../../client-address.js'
import type { Health } from '../health/health.js'
import type { Metrics, Observed } from '../health/metrics.js'
import type { Logger } from '../../../pipelines/logger.js'
import { type Outcome, Reader, type ReaderParts } from '../answering/reader.js'
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
  readonly minChainHeight: string
  readonly onDisconnect: OnDisconnect
  /** Reads the header `authorization`. Like `origin`, valid only while the request is being handed over, not later. */
  readonly authorization: () => string
  readonly origin: () => Origin
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

/** Routes HTTP requests to their answers. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #router: Router
  /** Answers the reads, for all transports. */
  readonly reader: Reader

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#router = new Router(parts.reads)
    this.reader = new Reader(parts)
  }

  /** Returns the answer to a request, synchronously if it is in memory. Never throws or rejects. */
  answer(request: Request): Answer | Promise<Answer> {
    try {
      return this.refusal(request) ?? this.#answer(request)
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /** Counts a request against the rate limit. @returns the refusal if its client has exceeded the limit. */
  refusal({ method, path, origin }: Request): Answer | undefined {
    if (method === 'OPTIONS' || !isUnder(API, path)) return undefined
    const failure = this.reader.overLimit(origin)
    return failure === undefined ? undefined : failureAnswer(failure)
  }

  /** Returns the refusal of a WebSocket request, if any. Before the explorer is ready, `since` would get a needless resync. */
  socketRefusal(request: Request): Answer | undefined {
    const { notReady } = this.reader
    return this.refusal(request) ?? (notReady === undefined ? undefined : failureAnswer(notReady))
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
    if (!(outcome instanceof Promise)) return toAnswer(outcome, request)
    return outcome.then(
      (made) => toAnswer(made, request),
      (error: unknown) => this.#failed(error, request),
    )
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
    const { metrics, logger } = this.#parts
    try {
      const { text, type } = await metrics.text()
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

const chainHeaders = ({ height, tipHash }: ChainState): Headers => [
  ['x-chain-height', String(height)],
  ['x-chain-tip', tipHash],
]

function toAnswer(outcome: Outcome, { ifNoneMatch }: Request): Answer {
  if (outcome === OVERLOADED) return REFUSAL
  if (!('answer' in outcome)) return failureAnswer(outcome)
  const { chain } = outcome
  const { body, etag } = outcome.answer
  if (chain === undefined) return { status: 200, headers: [JSON_TYPE, NO_STORE], body }
  const headers: Headers = [...chainHeaders(chain), ['etag', etag], ['cache-control', 'no-cache']]
  if (ifNoneMatch !== '' && matchesTag(ifNoneMatch, etag)) return { status: 304, headers, body }
  return { status: 200, headers: [JSON_TYPE, ...headers], body }
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
