import { OperationTypeNode } from 'graphql'
import { createHandler, type Handler, type Response } from 'graphql-http'
import { HTTP_STATUS } from '../../../../pipelines/errors.js'
import { encodedText } from '../../core/answering/encoding.js'
import type { Failure } from '../../core/answering/failure.js'
import type { Reader } from '../../core/answering/reader.js'
import { asksForHtml } from '../../http/accept.js'
import {
  type Answer,
  chainHeaders,
  errorAnswer,
  type Headers,
  keptRequest,
  type Request,
  retryHeaders,
} from '../../http/answer.js'
import { Resource } from '../../http/resource.js'
import type { ChainState } from '../../core/state/state.js'
import { errorOf, Failed, formatError } from './errors.js'
import { page } from './graphiql.js'
import type { Fields } from './links.js'
import { type Operations, type Params, type Prepared, requestsOf } from './operation.js'
import { Reading } from './reading.js'

/** The maximum size of the body of a request. */
export const MAX_BODY_BYTES = 64 * 1024
const RESPONSE_TYPE = 'application/graphql-response+json'
const VARY = 'accept, accept-encoding, x-min-chain-height'

const PRIVATE_IN_URL: Failure = {
  code: 'HW_METHOD_NOT_ALLOWED',
  message: 'the keys of a wallet are taken by POST alone: those of a URL are written to logs on its way',
}

/** A request with its effects besides its response. */
interface Exchange {
  readonly request: Request
  /** The state of the answer. */
  chain?: ChainState
  /** The reason why there is no answer. */
  failure?: Failure
  /** True if the answer must not be kept, except by the client. */
  isPrivate?: boolean
}

/** The endpoint /graphql: queries by GET and POST, and GraphiQL for browsers. */
export class GraphqlEndpoint {
  readonly #operations: () => Operations
  readonly #reader: Reader
  readonly #handle: Handler<Exchange>

  /** @param operations returns the operations of the schema for the chain. */
  constructor(
    operations: () => Operations,
    reader: Reader,
    private readonly basePath = '',
  ) {
    this.#operations = operations
    this.#reader = reader
    this.#handle = createHandler<Exchange>({
      onSubscribe: ({ raw }, params) => this.#respond(raw, params),
      formatError: (error) => formatError(error) as Error,
    })
  }

  answer(request: Request): Answer | Promise<Answer> {
    const { method, accept, query } = request
    if (method !== 'POST' && asksForHtml(accept) && !new URLSearchParams(query).has('query'))
      return page(this.basePath)
    const body = method === 'POST' ? request.body(MAX_BODY_BYTES) : undefined
    return this.#answer(keptRequest(request), body)
  }

  async #answer(request: Request, reading: Promise<Buffer | undefined> | undefined): Promise<Answer> {
    const body = await reading
    if (reading !== undefined && body === undefined) return errorAnswer('HW_BODY_TOO_LARGE', 'Body Too Large')
    const { method, path, query, accept, contentType } = request
    const headers: Readonly<Record<string, string>> = { accept, 'content-type': contentType }
    const exchange: Exchange = { request }
    const response = await this.#handle({
      method: method === 'HEAD' ? 'GET' : method,
      url: `${path}?${query}`,
      headers: { get: (name) => headers[name] ?? null },
      body: () => body?.toString() ?? '',
      raw: exchange,
      context: undefined,
    })
    return this.#toAnswer(response, exchange)
  }

  async #respond(exchange: Exchange, params: Params) {
    const operations = this.#operations()
    const prepared = operations.prepare(params)
    if (!('operation' in prepared)) return prepared
    if (prepared.operation.operation === OperationTypeNode.MUTATION)
      return failureResponse(
        { code: 'HW_METHOD_NOT_ALLOWED', message: 'there are no mutations' },
        exchange.request,
      )
    if (prepared.operation.operation === OperationTypeNode.SUBSCRIPTION)
      return [
        errorOf({
          code: 'HW_INVALID_ARGUMENT',
          message: 'subscriptions need the protocol graphql-transport-ws',
        }),
      ]
    if (prepared.isPrivate && exchange.request.method !== 'POST')
      return failureResponse(PRIVATE_IN_URL, exchange.request)
    exchange.isPrivate = prepared.isPrivate
    const result = await this.#execute(exchange, operations, prepared)
    if ('data' in result) return result
    exchange.failure = result
    if (result.chain !== undefined) exchange.chain = result.chain
    return HTTP_STATUS[result.code] === 400 ? [errorOf(result)] : failureResponse(result, exchange.request)
  }

  async #execute(
    exchange: Exchange,
    operations: Operations,
    prepared: Prepared,
  ): Promise<{ data: Fields } | Failure> {
    const { origin, authorization, minChainHeight, onDisconnect } = exchange.request
    const weight = requestsOf(prepared.cost)
    // One has been counted already.
    const refused = weight > 1 ? await this.#reader.limit.over(origin, weight - 1) : undefined
    if (refused !== undefined) return refused
    const isAuthorized = this.#reader.isAuthorized(authorization())
    const outcome = await this.#reader.operation(
      async (context, absence) => {
        const assertReached = (from: number): void => {
          const failure = absence(from)
          if (failure !== undefined) throw new Failed(failure)
        }
        const reading = new Reading({ context, assertReached, isAuthorized })
        try {
          return { data: await operations.execute(prepared, reading) }
        } catch (error) {
          if (error instanceof Failed) return error.failure
          throw error
        }
      },
      { minChainHeight, onDisconnect, weight },
    )
    if (!('result' in outcome)) return outcome
    exchange.chain = outcome.chain
    return outcome.result
  }

  async #toAnswer([text, { status, headers = {} }]: Response, exchange: Exchange): Promise<Answer> {
    const { request, chain, failure, isPrivate = false } = exchange
    const encoded = encodedText(
      text ?? JSON.stringify({ errors: [formatError(new Error(messageOf(status)))] }),
    )
    const common: Headers = [
      ['vary', VARY],
      ['cache-control', failure === undefined && chain !== undefined && !isPrivate ? 'no-cache' : 'no-store'],
      ...(chain === undefined ? [] : chainHeaders(chain)),
      ...(failure === undefined ? [] : retryHeaders(failure)),
    ]
    const own = Object.entries({
      'content-type': `${RESPONSE_TYPE}; charset=utf-8`,
      ...headers,
    }) as unknown as Headers
    const answer = {
      status,
      body: encoded.body,
      headers: [...own, ...common],
      ...(failure?.code === undefined ? {} : { code: failure.code }),
    }
    if (status !== 200 || chain === undefined || failure !== undefined) return answer
    return { ...answer, ...(await new Resource(answer.body, answer.headers, encoded.etag).answer(request)) }
  }
}

function failureResponse(failure: Failure, { accept }: Request): Response {
  const type = accept.includes(RESPONSE_TYPE) ? RESPONSE_TYPE : 'application/json'
  const body = JSON.stringify({ errors: [formatError(errorOf(failure))] })
  const status = HTTP_STATUS[failure.code]
  return [body, { status, statusText: '', headers: { 'content-type': `${type}; charset=utf-8` } }]
}

/** Returns the message for a response without a body. */
function messageOf(status: number): string {
  if (status === 406) return `accept must allow ${RESPONSE_TYPE} or application/json`
  return status === 415 ? 'content-type must be application/json' : 'the request is not one of GraphQL'
}
