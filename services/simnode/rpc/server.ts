import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault, Faults } from '../faults.js'
import type { Params } from './methods.js'
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from './error.js'
import { QueueFull, Workers } from './workers.js'

export interface RpcHandler {
  /** @returns the result as JSON; throws RpcError. */
  call(method: string, params: Params): string
}

export interface RpcServerOptions {
  readonly port?: number
  readonly host?: string
  readonly rpc: RpcHandler
  readonly faults: Faults
  /** How long the node's read of a block takes, in milliseconds. */
  readonly blockMs?: number
  /** Answers what is not JSON-RPC (GET, or a path other than `/`): a JSON text, or undefined for 404. */
  readonly control: (method: string, url: URL) => string | undefined
}

interface Call {
  readonly method: string
  readonly params: Params
  readonly id: unknown
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** Bitcoin Core's HTTP: JSON-RPC 1.0 by POST to `/`, four workers and a queue, any credentials; and `/control/…` beside it. */
export class RpcServer {
  readonly #server: Server
  readonly #workers = new Workers()
  readonly #options: RpcServerOptions

  private constructor(options: RpcServerOptions) {
    this.#options = options
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500)
        response.end(error instanceof Error ? error.message : String(error))
      })
    })
    // Kept open longer than any client keeps them, so that closing is never a race with the next request.
    this.#server.keepAliveTimeout = 120_000
  }

  /** Rejects where the port is taken. */
  static async listen(options: RpcServerOptions): Promise<RpcServer> {
    const server = new RpcServer(options)
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject)
      server.#server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve)
    })
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve()
      })
      this.#server.closeAllConnections()
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://node')
    if (request.method !== 'POST' || url.pathname !== '/') {
      this.#control(request.method ?? 'GET', url, response)
      return
    }
    const calls = parseCalls(await bodyOf(request))
    const fault = Array.isArray(calls) ? this.#options.faults.take(calls[0]?.method ?? '') : undefined
    if (fault?.kind === 'reset') {
      request.socket.resetAndDestroy()
      return
    }
    const answer = await this.#work(calls, fault)
    const body = fault?.kind === 'truncate' ? answer.body.slice(0, answer.body.length >> 1) : answer.body
    send(response, answer.status, body)
  }

  #control(method: string, url: URL, response: ServerResponse): void {
    try {
      const body = this.#options.control(method, url)
      if (body === undefined) send(response, 404, '{"error":"Not found"}')
      else send(response, 200, body)
    } catch (error) {
      send(response, 400, JSON.stringify({ error: error instanceof Error ? error.message : String(error) }))
    }
  }

  async #work(calls: ParsedCalls, fault: Fault | undefined): Promise<Answer> {
    if (fault?.kind === '503') return { status: 503, body: '' }
    if (fault?.kind === 'workqueue') return { status: 503, body: 'Work queue depth exceeded' }
    try {
      return await this.#workers.run(async () => {
        const delay = (fault?.kind === 'slow' ? fault.ms : 0) + this.#cost(calls)
        if (delay > 0) await sleep(delay)
        return this.#execute(calls)
      })
    } catch (error) {
      if (error instanceof QueueFull) return { status: 503, body: error.message }
      throw error
    }
  }

  /** Every read of a block from disk costs; with ids only (verbosity 1) it costs a 25th. */
  #cost(calls: ParsedCalls): number {
    const { blockMs = 0 } = this.#options
    if (blockMs === 0 || !Array.isArray(calls)) return 0
    let cost = 0
    for (const { method, params } of calls) {
      if (method === 'getblock') cost += Number(params[1] ?? 1) === 1 ? blockMs / 25 : blockMs
      if (method === 'getblockstats') cost += blockMs
    }
    return cost
  }

  #execute(calls: ParsedCalls): Answer {
    if (!Array.isArray(calls)) return { status: calls.status, body: errorBody(calls, null) }
    const answers = calls.map((call): Answer => {
      try {
        const result = this.#options.rpc.call(call.method, call.params)
        return { status: 200, body: `{"result":${result},"error":null,"id":${JSON.stringify(call.id)}}` }
      } catch (error) {
        const known =
          error instanceof RpcError
            ? error
            : new RpcError(-1, error instanceof Error ? error.message : String(error))
        return { status: known.status, body: errorBody(known, call.id) }
      }
    })
    const [only] = answers
    if (calls.isBatch === true || only === undefined) {
      return { status: 200, body: `[${answers.map((answer) => answer.body).join(',')}]` }
    }
    return only
  }
}

type ParsedCalls = (Call[] & { isBatch?: boolean }) | RpcError

function parseCalls(text: string): ParsedCalls {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return new RpcError(PARSE_ERROR, 'Parse error')
  }
  const calls: Call[] & { isBatch?: boolean } = []
  for (const each of Array.isArray(parsed) ? (parsed as unknown[]) : [parsed]) {
    const {
      method,
      params = [],
      id = null,
    } = (each ?? {}) as { method?: unknown; params?: unknown; id?: unknown }
    if (typeof method !== 'string') return new RpcError(INVALID_REQUEST, 'Method must be a string', 400)
    if (!Array.isArray(params)) return new RpcError(INVALID_REQUEST, 'Params must be an array', 400)
    calls.push({ method, params: params as unknown[], id })
  }
  calls.isBatch = Array.isArray(parsed)
  return calls
}

function errorBody(error: RpcError, id: unknown): string {
  return JSON.stringify({ result: null, error: { code: error.code, message: error.message }, id })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function send(response: ServerResponse, status: number, body: string): void {
  const bytes = Buffer.from(`${body}\n`)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length })
  response.end(bytes)
}
