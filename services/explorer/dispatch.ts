import { AnswerCache, type CachedAnswer, matchesTag, type Moment, toBytes } from './answer-cache.js'
import { Unavailable } from './availability.js'
import type { Origin } from './client-address.js'
import type { Definitions } from './definitions.js'
import type { Health } from './health.js'
import type { Metrics } from './metrics.js'
import type { Logger } from '../../pipelines/logger.js'
import { NodeUnavailable } from './node-health.js'
import { parseArguments } from './reads/arguments.js'
import type { RateLimit } from './rate-limit.js'
import { BadArgument, type NodeAsked, NotFound, type Read, type ReadContext } from './reads/read.js'
import { API, type Matched, Router } from './router.js'
import { SharedAnswer, type WhenGone } from './shared-answer.js'
import type { State } from './state.js'
import type { Tables } from './tables.js'
import type { Token } from './token.js'

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

export interface Answer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Of 304 the one that is not sent: its length is told. */
  readonly body: Buffer
}

export interface DispatcherParts {
  readonly reads: readonly Read[]
  readonly state: State
  readonly tables: Tables
  readonly definitions: Definitions
  readonly health: () => Health
  readonly metrics: Metrics
  readonly logger: Logger
  readonly node: NodeAsked
  /** Of the reads that need one; they are open to all where it is left out. */
  readonly token?: Token | undefined
  /** Of requests under /api/v1; none where left out. */
  readonly limit?: RateLimit | undefined
}

const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'] as const
const NO_STORE = ['cache-control', 'no-store'] as const
/** Of one answer; then it is 503, and what it asked of the database ends. */
const ANSWER_DEADLINE_MS = 5_000
/** How long a request waits for the height that it asks for. */
const HEIGHT_WAIT_MS = 2_000
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

/** Turns a request into its answer, whatever transport brought it. Never rejects. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #router: Router
  readonly #cache = new AnswerCache()
  /** Answers on their way: the same question of the same moment is asked once. */
  readonly #pending = new Map<string, SharedAnswer<CachedAnswer>>()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#router = new Router(parts.reads)
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
    const { limit } = this.#parts
    if (limit === undefined || method === 'OPTIONS' || !isUnder(API, path)) return undefined
    const waitMs = limit.take(origin())
    return waitMs === undefined ? undefined : limitAnswer(waitMs)
  }

  #answer(request: Request): Answer | Promise<Answer> {
    if (request.path.length + request.query.length > MOST_URL) return errorAnswer(414, 'URI Too Long')
    const matched = this.#router.match(request.path)
    if (matched === undefined) return unknownRoute(request)
    if (request.method === 'OPTIONS') return PREFLIGHT
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return errorAnswer(405, 'Method Not Allowed', [['allow', METHODS]])
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
    if (read.needsToken === true && this.#parts.token?.isIn(request.authorization()) === false)
      return errorAnswer(401, 'Unauthorized', [['www-authenticate', 'Bearer']])
    const args = argumentsOf(read, params, request.query)
    const height = minHeight(request.minChainHeight)
    const { state, tables } = this.#parts
    // No head comes of a database that is away.
    if (height > state.chain.height && read.fresh !== 'outside' && tables.isReachable)
      return state
        .until(() => state.chain.height >= height, HEIGHT_WAIT_MS)
        .then(() => this.#now(read, args, request))
        .catch((error: unknown) => this.#failed(error, route.pattern))
    const answer = this.#now(read, args, request)
    return answer instanceof Promise
      ? answer.catch((error: unknown) => this.#failed(error, route.pattern))
      : answer
  }

  #now(read: Read, args: Record<string, unknown>, request: Request): Answer | Promise<Answer> {
    const { state, definitions } = this.#parts
    if (read.fresh === 'outside') return this.#outside(read, args, request)
    if (!state.ready) throw new Unavailable('the chain was not read yet')
    const { chain } = state
    const moment: Moment = {
      position: chain.position,
      tipHash: chain.tipHash,
      poolVersion: state.pool.version,
      definitions: definitions.version,
    }
    const key = `${read.name} ${JSON.stringify(args)}`
    const stateHeaders = chainHeaders(chain)
    const cached = this.#cache.get(read.fresh, key, moment)
    if (cached !== undefined) return goodAnswer(cached, stateHeaders, request)
    return this.#underWay(read, args, key, moment)
      .join(request.whenGone)
      .then(
        (made) => goodAnswer(made, stateHeaders, request),
        (error: unknown) => {
          if (error instanceof NotFound) return errorAnswer(404, error.message, stateHeaders)
          throw error
        },
      )
  }

  async #outside(read: Read, args: Record<string, unknown>, { whenGone }: Request): Promise<Answer> {
    const make = async (signal: AbortSignal): Promise<Buffer> =>
      jsonBytes(await read.resolve(this.#context(signal), args as never))
    const body = await new SharedAnswer(make, ANSWER_DEADLINE_MS, () => undefined).join(whenGone)
    return { status: 200, headers: [JSON_TYPE, NO_STORE], body }
  }

  #underWay(
    read: Read,
    args: Record<string, unknown>,
    key: string,
    moment: Moment,
  ): SharedAnswer<CachedAnswer> {
    const pendingKey = `${key} ${JSON.stringify(moment)}`
    const underWay = read.fresh === 'live' ? undefined : this.#pending.get(pendingKey)
    if (underWay !== undefined) return underWay
    const make = async (signal: AbortSignal): Promise<CachedAnswer> => {
      const made = toBytes(await read.resolve(this.#context(signal), args as never), moment.tipHash)
      this.#cache.keep(read.fresh, key, made, moment)
      return made
    }
    const making = new SharedAnswer<CachedAnswer>(make, ANSWER_DEADLINE_MS, () => {
      if (this.#pending.get(pendingKey) === making) this.#pending.delete(pendingKey)
    })
    this.#pending.set(pendingKey, making)
    return making
  }

  #context(signal: AbortSignal): ReadContext {
    const { state, tables, definitions, node } = this.#parts
    return {
      chain: state.chain,
      pool: state.pool,
      tables: tables.withSignal(signal),
      definitions,
      node,
      indexer: () => state.indexer(),
    }
  }

  #failed(error: unknown, what: string): Answer {
    if (error instanceof BadArgument) return errorAnswer(400, error.message)
    if (error instanceof NodeUnavailable) return errorAnswer(503, 'Node unavailable')
    if (error instanceof Unavailable) return errorAnswer(503, UNAVAILABLE)
    this.#parts.logger.error({ err: error, what }, 'a read failed')
    return errorAnswer(500, 'Internal Server Error')
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

/** @throws BadArgument. */
function argumentsOf(
  read: Read,
  params: Readonly<Record<string, string>>,
  query: string,
): Record<string, unknown> {
  const given = new URLSearchParams(query)
  return parseArguments(read.args, (name) => {
    const inPath = params[name]
    return inPath === undefined ? (given.get(name) ?? undefined) : decodeSegment(inPath)
  })
}

/** What cannot be decoded is taken as it is, and refused by the argument's own rule. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** @throws BadArgument. @returns -1 where none is asked for. */
function minHeight(header: string): number {
  if (header === '') return -1
  if (!/^\d{1,10}$/.test(header)) throw new BadArgument('x-min-chain-height must be an integer of at least 0')
  return Number(header)
}

type Headers = readonly (readonly [string, string])[]

function chainHeaders(chain: { readonly height: number; readonly tipHash: string }): Headers {
  return [
    ['x-chain-height', String(chain.height)],
    ['x-chain-tip', chain.tipHash],
  ]
}

function goodAnswer({ body, etag }: CachedAnswer, stateHeaders: Headers, { ifNoneMatch }: Request): Answer {
  const headers: Headers = [...stateHeaders, ['etag', etag], ['cache-control', 'no-cache']]
  if (ifNoneMatch !== '' && matchesTag(ifNoneMatch, etag)) return { status: 304, headers, body }
  return { status: 200, headers: [JSON_TYPE, ...headers], body }
}

function unknownRoute({ method, path, query }: Request): Answer {
  const url = query === '' ? path : `${path}?${query}`
  const body = { error: 'Not Found', message: `Route ${method}:${url} not found`, statusCode: 404 }
  return { status: 404, headers: [JSON_TYPE], body: jsonBytes(body) }
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
