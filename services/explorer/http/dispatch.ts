import { matchesTag } from '../answering/answer-cache.js'
import { Unavailable } from '../tables/availability.js'
import type { Origin } from '../../client-address.js'
import type { Health } from '../health/health.js'
import type { Metrics, Observed } from '../health/metrics.js'
import type { Logger } from '../../../pipelines/logger.js'
import { NodeUnavailable } from '../health/node-health.js'
import {
  type Outcome,
  OVERLOADED,
  OVERLOADED_RETRY_SECONDS,
  Reader,
  type ReaderParts,
  SYNCING,
  SYNCING_RETRY_SECONDS,
  Unauthorized,
  UPGRADING,
  UPGRADING_RETRY_SECONDS,
} from '../answering/reader.js'
import { BadArgument, type Read } from '../reads/read.js'
import { API, type Matched, Router } from './router.js'
import type { WhenGone } from '../answering/shared-answer.js'

export interface Request {
  /** Upper case. */
  readonly method: string
  /** Still percent-encoded, without the query. */
  readonly path: string
  readonly query: string
  readonly ifNoneMatch: string
  readonly minChainHeight: string
  readonly whenGone: WhenGone
  /** Of the header; to be asked while the request is handed over, not later, as is `origin`. */
  readonly authorization: () => string
  readonly origin: () => Origin
}

export interface Answer extends Observed {
  readonly headers: readonly (readonly [string, string])[]
  /** Of 304 the one that is not sent: its length is told. */
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
/** Characters of a URL; the longest that means anything has a few hundred. */
const MOST_URL = 8_192
const METHODS = 'GET, HEAD, OPTIONS'
/** What a browser is told that asks whether a page of another origin may ask. */
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
const UNAVAILABLE = 'Database unavailable'

/** Turns an HTTP request into its answer. Never rejects. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #router: Router
  /** Answers the reads, for the other transports too. */
  readonly reader: Reader

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#router = new Router(parts.reads)
    this.reader = new Reader(parts)
  }

  /** At once where the answer is in memory. */
  answer(request: Request): Answer | Promise<Answer> {
    try {
      return this.refusal(request) ?? this.#answer(request)
    } catch (error) {
      return this.#failed(error, request.method)
    }
  }

  /** Counts a request. @returns the answer of one that is over its client's limit. */
  refusal({ method, path, origin }: Request): Answer | undefined {
    if (method === 'OPTIONS' || !isUnder(API, path)) return undefined
    const waitMs = this.reader.overLimit(origin)
    return waitMs === undefined ? undefined : limitAnswer(waitMs)
  }

  /** @returns the answer of a request for a socket that is not to have one: a client that comes back would hear resync for no reason. */
  socketRefusal(request: Request): Answer | undefined {
    try {
      const refusal = this.refusal(request)
      if (refusal === undefined) this.reader.mustBeReady()
      return refusal
    } catch (error) {
      return this.#failed(error, request.method)
    }
  }

  #answer(request: Request): Answer | Promise<Answer> {
    if (request.path.length + request.query.length > MOST_URL) return errorAnswer(414, 'URI Too Long')
    const matched = this.#router.match(request.path)
    if (matched === undefined || isBroadcast(request)) return unknownRoute(request)
    if (request.method === 'OPTIONS') return PREFLIGHT
    if (request.method !== 'GET' && request.method !== 'HEAD') return wrongMethod(request)
    const { target } = matched.route
    if (target === 'health') return this.#health()
    if (target === 'metrics') return this.#metrics()
    if (target === 'socket') return errorAnswer(426, 'Upgrade Required', [['upgrade', 'websocket']])
    try {
      return this.#read(target, matched, request)
    } catch (error) {
      return this.#failed(error, matched.route.pattern)
    }
  }

  /** The pattern that a path falls under, for metrics: a path itself would make a label without end. */
  patternOf(path: string): string {
    return this.#router.match(path)?.route.pattern ?? 'unknown'
  }

  #read(read: Read, { route, params }: Matched, request: Request): Answer | Promise<Answer> {
    const given = request.query === '' ? undefined : new URLSearchParams(request.query)
    const argument = (name: string): string | undefined => {
      const inPath = params[name]
      return inPath === undefined ? (given?.get(name) ?? undefined) : decodeSegment(inPath)
    }
    const { minChainHeight, whenGone, authorization } = request
    const outcome = this.reader.ask(read, { argument, minChainHeight, whenGone, authorization })
    if (!(outcome instanceof Promise)) return toAnswer(outcome, request)
    return outcome.then(
      (made) => toAnswer(made, request),
      (error: unknown) => this.#failed(error, route.pattern),
    )
  }

  #failed(error: unknown, what: string): Answer {
    if (error instanceof BadArgument) return errorAnswer(400, error.message)
    if (error instanceof Unauthorized)
      return errorAnswer(401, error.message, [['www-authenticate', 'Bearer']])
    if (error instanceof NodeUnavailable) return { ...errorAnswer(503, 'Node unavailable'), reason: 'node' }
    if (error instanceof Unavailable) return this.#unavailable()
    this.#parts.metrics.defect('http')
    this.#parts.logger.error({ err: error, what }, 'a read failed')
    return errorAnswer(500, 'Internal Server Error')
  }

  #unavailable(): Answer {
    const { upgrade } = this.reader
    if (upgrade === undefined) return { ...errorAnswer(503, UNAVAILABLE), reason: 'database' }
    const headers: Headers = [JSON_TYPE, NO_STORE, ['retry-after', String(UPGRADING_RETRY_SECONDS)]]
    return { status: 503, reason: 'upgrading', headers, body: jsonBytes({ error: UPGRADING, ...upgrade }) }
  }

  #health(): Answer {
    const health = this.#parts.health()
    const status = health.status === 'ok' ? 200 : 503
    return { status, headers: [JSON_TYPE, NO_STORE], body: jsonBytes(health) }
  }

  async #metrics(): Promise<Answer> {
    const { metrics, logger } = this.#parts
    try {
      const { text, type } = await metrics.text()
      return { status: 200, headers: [['content-type', type]], body: Buffer.from(text) }
    } catch (error) {
      logger.error({ err: error }, 'metrics cannot be told')
      return errorAnswer(500, 'Internal Server Error')
    }
  }
}

/** What cannot be decoded is taken as it is, and refused by the argument's own rule. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type Headers = readonly (readonly [string, string])[]

function chainHeaders(chain: { readonly height: number; readonly tipHash: string }): Headers {
  return [
    ['x-chain-height', String(chain.height)],
    ['x-chain-tip', chain.tipHash],
  ]
}

function toAnswer(outcome: Outcome, { ifNoneMatch }: Request): Answer {
  if ('refused' in outcome) return REFUSAL
  const { chain } = outcome
  const stateHeaders = chain === undefined ? [] : chainHeaders(chain)
  if ('missing' in outcome) return errorAnswer(404, outcome.missing, stateHeaders)
  if ('syncing' in outcome) {
    const headers: Headers = [
      JSON_TYPE,
      NO_STORE,
      ...stateHeaders,
      ['retry-after', String(SYNCING_RETRY_SECONDS)],
    ]
    const body = jsonBytes({ error: SYNCING, ...outcome.syncing })
    return { status: 503, reason: 'syncing', headers, body }
  }
  const { body, etag } = outcome.answer
  if (chain === undefined) return { status: 200, headers: [JSON_TYPE, NO_STORE], body }
  const headers: Headers = [...stateHeaders, ['etag', etag], ['cache-control', 'no-cache']]
  if (ifNoneMatch !== '' && matchesTag(ifNoneMatch, etag)) return { status: 304, headers, body }
  return { status: 200, headers: [JSON_TYPE, ...headers], body }
}

/** The route by which clients of the live service send transactions: to them, 405 would not say that it does not exist. */
function isBroadcast({ method, path }: Request): boolean {
  return method === 'POST' && path === `${API}/tx/send`
}

/** In the words of Fastify, which the live service runs on. */
function unknownRoute({ method, path, query }: Request): Answer {
  const url = query === '' ? path : `${path}?${query}`
  const body = { error: 'Not Found', message: `Route ${method}:${url} not found`, statusCode: 404 }
  return { status: 404, headers: [JSON_TYPE], body: jsonBytes(body) }
}

function wrongMethod({ method, path }: Request): Answer {
  const message = `Method ${method} is not allowed for ${path}`
  const body = jsonBytes({ error: 'Method Not Allowed', message, statusCode: 405 })
  return { status: 405, headers: [JSON_TYPE, ['allow', METHODS]], body }
}

const isUnder = (folder: string, path: string): boolean =>
  path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/')

function limitAnswer(waitMs: number): Answer {
  const headers: Headers = [JSON_TYPE, ['retry-after', String(Math.ceil(waitMs / 1000))]]
  const body = jsonBytes({ error: 'Rate limit exceeded', retry_after_ms: waitMs })
  return { status: 429, headers, body }
}

function errorAnswer(status: number, error: string, headers: Headers = []): Answer {
  return { status, headers: [JSON_TYPE, ...headers], body: jsonBytes({ error }) }
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** Made once: what is refused in a flood must cost next to nothing. */
const REFUSAL: Answer = {
  ...errorAnswer(503, OVERLOADED, [['retry-after', String(OVERLOADED_RETRY_SECONDS)]]),
  reason: 'overload',
}
