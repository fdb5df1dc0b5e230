import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { decodeAddress } from '../../pipelines/chain/address.js'
import type { Network } from '../../pipelines/chain/networks.js'
import { coded } from '../../pipelines/errors.js'

export const NOT_FOUND = -5
export const INVALID_PARAMETER = -8
export const TYPE_ERROR = -3
export const METHOD_NOT_FOUND = -32601
const INVALID_REQUEST = -32600
const PARSE_ERROR = -32700

/** An error in the form in which Bitcoin Core returns it. */
export class JsonRpcError extends coded('HW_NODE_RPC') {
  constructor(
    readonly rpcCode: number,
    message: string,
  ) {
    super(message)
  }

  /** The HTTP status of the response. */
  get status(): number {
    if (this.rpcCode === METHOD_NOT_FOUND) return 404
    return this.rpcCode === INVALID_REQUEST ? 400 : 500
  }
}

export type Params = readonly unknown[]

/** A function that returns the result of a method as JSON, or throws an JsonRpcError. */
export type CallMethod = (method: string, params: Params) => string

interface Call {
  readonly method: unknown
  readonly params: unknown
  readonly id: unknown
}

/** One call, or a batch of calls, before validation. */
export interface RpcRequest {
  readonly calls: readonly Call[]
  readonly isBatch: boolean
}

export interface Answer {
  readonly status: number
  readonly body: string
}

export interface NodeServerOptions {
  /** The port to listen on; 0 or undefined picks a free one. */
  readonly port?: number | undefined
  /** Answers a POST to `/`; returns undefined if it has closed the socket instead. */
  readonly answer: (request: RpcRequest, socket: Socket) => Answer | undefined | Promise<Answer | undefined>
  /** Answers any other request. */
  readonly control: (method: string, url: URL) => Answer
}

/** As Bitcoin Core's HTTP server: lines may end without CR, and `Host` may be missing. electrs sends such requests. */
const AS_LENIENT = { insecureHTTPParser: true, requireHostHeader: false }

export interface NodeServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves JSON-RPC 1.0 over HTTP on loopback, as Bitcoin Core does, and accepts any credentials. Rejects if the port is in use. */
export async function serveNode(options: NodeServerOptions): Promise<NodeServer> {
  const server = createServer(AS_LENIENT, (request, response) => {
    answerHttp(request, options).then(
      (answer) => {
        if (answer === undefined) return
        const body = Buffer.from(`${answer.body}\n`)
        const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length }
        response.writeHead(answer.status, headers).end(body)
      },
      (error: unknown) => response.destroy(error as Error),
    )
  })
  // Longer than any client keeps an idle connection, so that closing never races with the next request.
  server.keepAliveTimeout = 120_000
  await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answerHttp(
  request: IncomingMessage,
  { answer, control }: NodeServerOptions,
): Promise<Answer | undefined> {
  const { method = 'GET', socket } = request
  const url = new URL(request.url ?? '/', 'http://node')
  if (method !== 'POST' || url.pathname !== '/') return control(method, url)
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const parsed = parseRequest(Buffer.concat(parts).toString())
  return parsed instanceof JsonRpcError ? failure(parsed, null) : answer(parsed, socket)
}

function parseRequest(text: string): RpcRequest | JsonRpcError {
  try {
    const parsed: unknown = JSON.parse(text)
    const isBatch = Array.isArray(parsed)
    return { calls: (isBatch ? parsed : [parsed]).map(callOf), isBatch }
  } catch {
    return new JsonRpcError(PARSE_ERROR, 'Parse error')
  }
}

function callOf(request: unknown): Call {
  const { method, params = [], id = null } = (request ?? {}) as Partial<Call>
  return { method, params, id }
}

/** Requests of `waitfornewblock`, which are answered when the tip of a node changes. */
export class TipWaits {
  readonly #waiting = new Set<() => void>()

  /** The number of requests that wait. */
  get size(): number {
    return this.#waiting.size
  }

  /** Answers all requests that wait, because the tip has changed. */
  changed(): void {
    for (const resume of this.#waiting) resume()
  }

  /** Waits until a request may be answered: at once, unless it contains a call of `waitfornewblock`. */
  async before({ calls }: RpcRequest): Promise<void> {
    const call = calls.find(({ method }) => method === 'waitfornewblock')
    if (call === undefined) return
    const [ms = 0] = Array.isArray(call.params) ? (call.params as unknown[]) : []
    await new Promise<void>((resolve) => {
      const resume = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(resume)
        resolve()
      }
      // 0 is no limit. The timer must not keep a stopped node alive.
      const timer = Number(ms) > 0 ? setTimeout(resume, Number(ms)).unref() : undefined
      this.#waiting.add(resume)
    })
  }
}

/** Answers each call of a request. The status of a batch is 200 even if its calls fail. */
export function answerCalls({ calls, isBatch }: RpcRequest, callMethod: CallMethod): Answer {
  const answers = calls.map(({ method, params, id }): Answer => {
    try {
      if (typeof method !== 'string') throw new JsonRpcError(INVALID_REQUEST, 'Method must be a string')
      if (!Array.isArray(params)) throw new JsonRpcError(INVALID_REQUEST, 'Params must be an array')
      const result = callMethod(method, params)
      return { status: 200, body: `{"result":${result},"error":null,"id":${JSON.stringify(id)}}` }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return failure(error instanceof JsonRpcError ? error : new JsonRpcError(-1, message), id)
    }
  })
  const [only] = answers
  if (!isBatch && only !== undefined) return only
  return { status: 200, body: `[${answers.map(({ body }) => body).join(',')}]` }
}

function failure({ status, rpcCode: code, message }: JsonRpcError, id: unknown): Answer {
  return { status, body: JSON.stringify({ result: null, error: { code, message }, id }) }
}

/** Returns a block hash that was passed as a parameter, in lower case. @throws JsonRpcError */
export function hashParameter(value: unknown): string {
  if (typeof value !== 'string')
    throw new JsonRpcError(TYPE_ERROR, 'JSON value is not of expected type string')
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase()
  const message = `blockhash must be of length 64 (not ${String(value.length)}, for '${value}')`
  throw new JsonRpcError(INVALID_PARAMETER, message)
}

/** Returns the script of a descriptor `addr(…)` or `raw(…)`, with or without a checksum. @throws JsonRpcError */
export function scriptToScan(object: unknown, network: Network | undefined): Buffer {
  const descriptor = typeof object === 'object' && object !== null && 'desc' in object ? object.desc : object
  const [, kind, inside = ''] = /^(addr|raw)\(([0-9a-zA-Z]+)\)(?:#\w{8})?$/.exec(String(descriptor)) ?? []
  if (kind === 'raw') return Buffer.from(inside, 'hex')
  const decoded = network === undefined ? undefined : decodeAddress(inside, network)
  if (decoded === undefined) throw new JsonRpcError(NOT_FOUND, `Invalid descriptor '${String(descriptor)}'`)
  return decoded.script
}
