import { type ClientError, type ErrorCode, errorBody, HTTP_STATUS } from '../../../pipelines/errors.js'
import { type Failure, OVERLOADED } from '../core/answering/failure.js'
import type { OnDisconnect } from '../core/answering/shared-answer.js'
import { limitHeaders } from '../../access/rate-limit.js'
import type { Origin } from '../../access/client-address.js'
import type { ChainState } from '../core/state/state.js'

/** The properties of an answer that metrics record. */
export interface Observed {
  /** The pattern of its route, if it is known without matching the path. */
  readonly route?: string
  readonly status: number
  /** The error code of a 503: separates overload, which more explorers solve, from failures. */
  readonly code?: ErrorCode
}

export interface Request {
  /** In upper case. */
  readonly method: string
  /** Percent-encoded, without the query. */
  readonly path: string
  readonly query: string
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
  readonly minChainHeight: string
  readonly accept: string
  readonly acceptLanguage: string
  readonly host: string
  readonly contentType: string
  readonly onDisconnect: OnDisconnect
  /** Reads the header `authorization`. Like the functions below, valid only while the request is being handed over, not later. */
  readonly authorization: () => string
  readonly origin: () => Origin
  /** Reads the body. @returns undefined if it has more bytes than this. */
  readonly body: (maxBytes: number) => Promise<Buffer | undefined>
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
  /** Sent instead of the body, each part when the client has taken the previous part. */
  readonly parts?: AsyncGenerator<string | Buffer>
  /** The content security policy of a page. Not set: the policy of data, which allows nothing. */
  readonly policy?: string
}

/** The parts of a request that select the form of its answer. */
export type PageRequest = Pick<Request, 'path' | 'query' | 'accept' | 'acceptLanguage'>

/** The path of the API. */
export const API = '/api/v1'

export const GET = 'GET, HEAD, OPTIONS'
export const POST = 'POST, OPTIONS'

export const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'] as const
export const NO_STORE = ['cache-control', 'no-store'] as const

/** Returns the answer to OPTIONS: CORS preflight requests of browsers. */
export function preflight(methods: string): Answer {
  return {
    status: 204,
    headers: [
      ['allow', methods],
      ['access-control-allow-methods', methods],
      ['access-control-allow-headers', 'authorization, content-type, if-none-match, x-min-chain-height'],
      ['access-control-max-age', '86400'],
    ],
    body: Buffer.alloc(0),
  }
}

export type Headers = readonly (readonly [string, string])[]

/** Returns one or more headers as one, whose value has line breaks: each call of writeHeader has a cost. */
export const joined = (headers: Headers): Headers[number] =>
  headers.reduce(([first, lines], [name, value]) => [first, `${lines}\r\n${name}: ${value}`])

export const chainHeaders = ({ height, tipHash }: Pick<ChainState, 'height' | 'tipHash'>) =>
  [
    ['x-chain-height', String(height)],
    ['x-chain-tip', tipHash],
  ] as const

/** Returns 404 with the body of Fastify, which the live service uses. */
export function unknownRoute(request: Request): Answer {
  const message = `Route ${request.method}:${urlOf(request)} not found`
  return jsonAnswer(404, { error: 'Not Found', message, statusCode: 404 }, [NO_STORE])
}

/** Returns the request with the headers that are otherwise valid only while it is being handed over. */
export function keptRequest(request: Request): Request {
  const [authorization, origin] = [request.authorization(), request.origin()]
  return { ...request, authorization: () => authorization, origin: () => origin }
}

/** Returns path and query of a request. */
export const urlOf = ({ path, query }: Pick<Request, 'path' | 'query'>): string =>
  query === '' ? path : `${path}?${query}`

export function wrongMethod({ method, path }: Request, methods: string): Answer {
  const message = `Method ${method} is not allowed for ${path}`
  return errorAnswer('HW_METHOD_NOT_ALLOWED', 'Method Not Allowed', [['allow', methods]], {
    message,
    statusCode: 405,
  })
}

/** Returns the headers that say when the request may succeed. */
export const retryHeaders = ({ retryMs, limit }: Failure): Headers =>
  retryMs === undefined
    ? []
    : [
        ['retry-after', String(Math.ceil(retryMs / 1000))],
        ...(limit === undefined ? [] : Object.entries(limitHeaders(limit, retryMs))),
      ]

/** Returns the HTTP answer for a failure, as JSON. */
export function failureAnswer(failure: Failure): Answer {
  const { code, message, details, chain } = failure
  const headers: Headers = [
    ...(chain === undefined ? [] : chainHeaders(chain)),
    ...retryHeaders(failure),
    ...(code === 'HW_UNAUTHORIZED' ? [['www-authenticate', 'Bearer'] as const] : []),
  ]
  const answer = errorAnswer(code, message, headers, details)
  return answer.status === 503 ? { ...answer, code } : answer
}

/** Returns an error with its code in the body. It is true of this moment only, and caches may keep some by default (404, 410). */
export const errorAnswer = (
  code: ClientError,
  error: string,
  headers: Headers = [],
  fields?: object,
): Answer => jsonAnswer(HTTP_STATUS[code], errorBody(code, error, fields), [NO_STORE, ...headers])

export function jsonAnswer(status: number, body: object, headers: Headers = []): Answer {
  return { status, headers: [JSON_TYPE, ...headers], body: Buffer.from(JSON.stringify(body)) }
}

/** The answer to requests under overload, created once, with its headers as one value: a refusal must cost next to nothing. */
const REFUSAL: Answer = { ...failureAnswer(OVERLOADED), headers: [joined(failureAnswer(OVERLOADED).headers)] }

/** Returns the answer for a failure of a face that answers with JSON. */
export const failedAsJson = (failure: Failure): Answer =>
  failure === OVERLOADED ? REFUSAL : failureAnswer(failure)
