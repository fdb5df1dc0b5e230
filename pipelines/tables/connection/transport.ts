import {
  Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type RequestOptions,
} from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { Defect } from '../../errors.js'

/** A request of the driver. */
interface Params {
  readonly query: string
  /** Rows to insert; the query is then sent in the URL. */
  readonly values?: Readable
  readonly query_params?: Readonly<Record<string, unknown>>
  readonly clickhouse_settings?: object
  readonly http_headers?: Readonly<Record<string, string>>
  readonly abort_signal?: AbortSignal
}

/** A response as the driver expects it. */
interface Response {
  readonly stream: IncomingMessage
  readonly query_id: string
  readonly response_headers: IncomingHttpHeaders
}

type PingResult = { readonly success: true } | { readonly success: false; readonly error: Error }

interface Sending {
  readonly body: string | Readable
  readonly signal: AbortSignal | undefined
  readonly repeats: boolean
}

export interface TransportOptions {
  /** URL of the server, which may contain a user name and a password. */
  readonly url: string
  readonly database: string
  /** Time without a byte from the server after which a request fails, in milliseconds. */
  readonly timeoutMs: number
  /** Returns the error for the text with which a server refuses a query. */
  readonly refusal: (text: string) => Error
}

const HEADERS = { 'user-agent': 'headwater' }
const MAX_CONNECTIONS = 16
/** The server closes idle connections after 10 s; a connection that is about to be closed must not be reused. */
const IDLE_MS = 2_500

/**
 * Sends the requests of the driver. Its own transport waits a millisecond before each of them and sends the text of a query apart
 * from its head: a query that takes 0.6 ms takes 2.3 ms with it, and six times the processor time of this process.
 */
export class Transport {
  readonly #options: RequestOptions
  readonly #request: typeof request
  readonly #database: string
  readonly #refusal: TransportOptions['refusal']
  #isClosed = false

  constructor({ url, database, timeoutMs, refusal }: TransportOptions) {
    const { protocol, hostname, port, username, password } = new URL(url)
    const isTls = protocol === 'https:'
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    const options = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS }
    this.#database = database
    this.#refusal = refusal
    this.#request = isTls ? tlsRequest : request
    this.#options = {
      agent: isTls ? new TlsAgent(options) : new Agent(options),
      // The URL has brackets around an IPv6 address.
      hostname: hostname.replaceAll(/[[\]]/g, ''),
      port,
      timeout: timeoutMs,
      ...(login === ':' ? {} : { auth: login }),
    }
  }

  /** Sends a query that reads, or one in the URL that writes the values. */
  exec(params: Params): Promise<Response> {
    return this.#run(params, params.values === undefined)
  }

  async command(params: Params): Promise<Omit<Response, 'stream'>> {
    const { stream, ...result } = await this.#run(params, false)
    await finished(stream.resume())
    return result
  }

  query(params: Params): Promise<Response> {
    return this.#run(params, true)
  }

  /** Rejects: rows are encoded here and not by the driver. */
  insert(): never {
    throw new Defect('rows are sent by `exec`')
  }

  async ping({ abort_signal: signal }: Pick<Params, 'abort_signal'>): Promise<PingResult> {
    try {
      const stream = await this.#send(
        { path: '/ping', headers: HEADERS },
        { body: '', signal, repeats: true },
      )
      const text = await textOf(stream)
      if (stream.statusCode === 200) return { success: true }
      return { success: false, error: new Error(text) }
    } catch (error) {
      return { success: false, error: error as Error }
    }
  }

  close(): Promise<void> {
    const { agent } = this.#options
    this.#isClosed = true
    if (agent instanceof Agent) agent.destroy()
    return Promise.resolve()
  }

  /** @throws the refusal of the server, or the error of the connection. */
  async #run(params: Params, reads: boolean): Promise<Response> {
    const { values, query, http_headers: headers, abort_signal: signal } = params
    const path = `/?${this.#search(params, values === undefined ? {} : { query }).toString()}`
    const stream = await this.#send(
      { path, method: 'POST', headers: { ...HEADERS, ...headers } },
      { body: values ?? query, signal, repeats: reads },
    )
    const { headers: received, statusCode } = stream
    if (statusCode !== 200 || received['x-clickhouse-exception-code'] !== undefined)
      throw this.#refusal(await textOf(stream))
    return { stream, query_id: String(received['x-clickhouse-query-id']), response_headers: received }
  }

  #search(
    { clickhouse_settings = {}, query_params = {} }: Params,
    query: { query?: string },
  ): URLSearchParams {
    const search = new URLSearchParams({ database: this.#database, ...query })
    for (const [name, value] of Object.entries(clickhouse_settings))
      if (value !== undefined) search.set(name, String(value))
    for (const [name, value] of Object.entries(query_params)) search.set(`param_${name}`, escaped(value))
    return search
  }

  /** @param repeats whether to send it once more if the server has closed the idle connection that was used. */
  #send(
    to: Pick<RequestOptions, 'path' | 'method' | 'headers' | 'agent'>,
    { body, signal, repeats }: Sending,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      let isAnswered = false
      const sent = this.#request({ ...this.#options, ...to }, (response) => {
        isAnswered = true
        resolve(response)
      })
      // A request that waits for a connection reports nothing when it is destroyed. One on a reused connection would report a reset
      // and be sent again if it were destroyed without a reason.
      const giveUp = (): void => {
        sent.destroy(signal?.reason as Error)
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      sent.once('close', () => signal?.removeEventListener('abort', giveUp))
      sent.once('timeout', () => sent.destroy(new Error('the server does not respond')))
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const isReset = error.code === 'ECONNRESET' || error.code === 'EPIPE'
        const isStale = isReset && sent.reusedSocket && !isAnswered && !this.#isClosed
        if (isStale && repeats) resolve(this.#send({ ...to, agent: false }, { body, signal, repeats: false }))
        else reject(error)
      })
      if (typeof body === 'string') sent.end(body)
      else pipeline(body, sent).catch(reject)
    })
  }
}

/** Returns the value of a parameter in the escaped format of ClickHouse, in which the server expects it. */
function escaped(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value !== 'string') throw new Defect(`a parameter of a query has the type ${typeof value}`)
  return value.replaceAll(/[\\\t\n\r]/g, (each) => ESCAPES[each] ?? each)
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk as string
  return text
}
