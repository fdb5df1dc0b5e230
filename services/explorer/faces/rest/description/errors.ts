import { Type, type TSchema } from '@sinclair/typebox'
import {
  type ClientError,
  ERRORS_WITHOUT_CODE,
  errorBody,
  HTTP_STATUS,
} from '../../../../../pipelines/errors.js'
import {
  DATABASE_UNAVAILABLE,
  type Failure,
  NODE_UNAVAILABLE,
  NOT_READY,
  OVERLOADED,
  overLimit,
  UNAUTHORIZED,
} from '../../../core/answering/failure.js'
import { MINUTE_MS } from '../../../../access/rate-limit.js'
import { BAD_BODY, BAD_TX_BODY } from '../../../http/body.js'
import { badArgument } from '../../../core/reads/arguments.js'
import { CursorOutdated } from '../../../core/reads/cursor.js'
import type { Read } from '../../../core/reads/read.js'
import type { Json } from './json-schema.js'

const SYNCING: Failure = {
  code: 'HW_SYNCING',
  message: 'Index is syncing',
  retryMs: 5_000,
  details: { indexedHeight: 1_200, nodeHeight: 1_560 },
}
const BODY: Failure = { code: 'HW_INVALID_ARGUMENT', message: BAD_BODY }
const TX_BODY: Failure = { code: 'HW_INVALID_ARGUMENT', message: BAD_TX_BODY }
const REJECTED: Failure = { code: 'HW_TX_REJECTED', message: 'bad-txns-inputs-missingorspent' }
const BAD_HEIGHT: Failure = {
  code: 'HW_INVALID_ARGUMENT',
  message: 'x-min-chain-height must be an integer from 0 to 9999999999',
}

/** The additional fields of error bodies, by code. */
const FIELDS: Partial<Readonly<Record<ClientError, Readonly<Record<string, TSchema>>>>> = {
  HW_RATE_LIMITED: { retry_after_ms: Type.Integer({ description: 'milliseconds until the next request' }) },
  HW_SYNCING: {
    indexedHeight: Type.Integer({ description: 'height of the index' }),
    nodeHeight: Type.Union([Type.Integer(), Type.Null()], { description: 'height of the node, if known' }),
  },
}

const WHEN: Readonly<Record<number, string>> = {
  400: 'An argument or header is malformed or outside its range; the text names it and its range.',
  401: 'The token is missing or wrong.',
  404: 'The object does not exist.',
  410: 'A reorganisation has removed items of the pages before the cursor.',
  413: 'The body is too large.',
  414: 'The URL is longer than 8,192 characters.',
  429: 'The client has exceeded its rate limit.',
  503: 'Temporarily unavailable. While the index is behind the node, also instead of 404 and of empty lists.',
}

/** The headers of answers with a state. */
export const STATE_HEADERS: Json = {
  'x-chain-height': { $ref: '#/components/headers/ChainHeight' },
  'x-chain-tip': { $ref: '#/components/headers/ChainTip' },
}

const LIMIT_HEADERS: Json = {
  ratelimit: { $ref: '#/components/headers/RateLimit' },
  'ratelimit-policy': { $ref: '#/components/headers/RateLimitPolicy' },
}

type Named = readonly (readonly [string, Failure])[]

const byText = (...failures: readonly Failure[]): Named =>
  failures.map((failure) => [failure.message, failure] as const)

/** The responses that several operations share. */
const SHARED: Readonly<Record<string, Named>> = {
  Unauthorized: byText(UNAUTHORIZED),
  CursorOutdated: byText({ code: 'HW_CURSOR_OUTDATED', message: new CursorOutdated().message }),
  BodyTooLarge: byText({ code: 'HW_BODY_TOO_LARGE', message: 'Body too large' }),
  UriTooLong: byText({ code: 'HW_URI_TOO_LONG', message: 'URI Too Long' }),
  RateLimited: byText(overLimit(1_500, { name: 'requests', most: 100, windowMs: MINUTE_MS })),
  Unavailable: byText(SYNCING, DATABASE_UNAVAILABLE, NOT_READY, OVERLOADED),
  NodeUnavailable: byText(NODE_UNAVAILABLE),
}

/** The shared responses, as OpenAPI components. */
export const RESPONSES: Json = Object.fromEntries(
  Object.entries(SHARED).map(([name, failures]): [string, Json] => [name, responseOf(failures)]),
)

/** Returns the errors of a read by HTTP status, as OpenAPI responses. @param hasToken true if the operator requires a token. */
export function errorsOf(
  {
    method,
    args,
    fresh,
    notFound = [],
    needsToken,
  }: Pick<Read, 'method' | 'args' | 'fresh' | 'notFound' | 'needsToken'>,
  hasToken: boolean,
): Json {
  const badArguments: Named = [
    ...badArgumentsOf(args),
    ...(method === 'POST' ? [['body', BODY] as const] : []),
  ]
  const missing = notFound.map((message): Failure => {
    return { code: message === 'Address not found' ? 'HW_ADDRESS_NOT_FOUND' : 'HW_NOT_FOUND', message }
  })
  return {
    400: responseOf([...badArguments, ['x-min-chain-height', BAD_HEIGHT]]),
    ...(needsToken === true && hasToken ? { 401: shared('Unauthorized') } : {}),
    ...(missing.length === 0 ? {} : { 404: responseOf(byText(...missing), notFound) }),
    ...('cursor' in args ? { 410: shared('CursorOutdated') } : {}),
    ...(method === 'POST' ? { 413: shared('BodyTooLarge') } : {}),
    414: shared('UriTooLong'),
    429: shared('RateLimited'),
    503: shared(fresh === 'outside' ? 'NodeUnavailable' : 'Unavailable'),
  }
}

/** Returns the errors of the command that broadcasts a transaction. */
export function commandErrors(args: Read['args']): Json {
  return {
    400: responseOf([...badArgumentsOf(args), ['body', TX_BODY], ['rejected', REJECTED]]),
    413: shared('BodyTooLarge'),
    414: shared('UriTooLong'),
    429: shared('RateLimited'),
    503: responseOf(byText(NODE_UNAVAILABLE, DATABASE_UNAVAILABLE)),
  }
}

const shared = (name: string): Json => ({ $ref: `#/components/responses/${name}` })

function badArgumentsOf(args: Read['args']): Named {
  return Object.entries(args).map(([name, schema]) => {
    const { code, message } = badArgument(name, schema)
    return [name, { code, message }] as const
  })
}

function responseOf(failures: Named, texts?: readonly string[]): Json {
  const examples = failures.map(([name, { code, message, details }]) => {
    return [name, { value: errorBody(code, message, details) }] as const
  })
  const codes = [...new Set(failures.map(([, { code }]) => code))]
  const schemas = codes.map((code) => bodyOf(code, texts))
  const isOfState = texts !== undefined
  const hasRetry = failures.some(([, { retryMs }]) => retryMs !== undefined)
  const isLimit = failures.some(([, { limit }]) => limit !== undefined)
  const headers = {
    ...(isOfState ? STATE_HEADERS : {}),
    ...(hasRetry ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
    ...(isLimit ? LIMIT_HEADERS : {}),
  }
  return {
    description: WHEN[HTTP_STATUS[codes[0] ?? 'HW_DEFECT']],
    ...(isOfState || hasRetry ? { headers } : {}),
    content: {
      'application/json': {
        schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas },
        examples: Object.fromEntries(examples) as Json,
      },
    },
  }
}

/** Returns the JSON Schema of the body of an error. @param texts the possible texts; not set: any. */
export function bodyOf(code: ClientError, texts?: readonly string[]): Json {
  const fields = FIELDS[code] ?? {}
  const hasCode = !ERRORS_WITHOUT_CODE.has(code)
  return {
    type: 'object',
    required: ['error', ...(hasCode ? ['code'] : []), ...Object.keys(fields)],
    properties: {
      error: {
        type: 'string',
        ...(texts === undefined ? {} : { enum: texts }),
        description: 'what was wrong, and what was expected',
      },
      ...(hasCode ? { code: { const: code } } : {}),
      ...fields,
    },
  }
}
