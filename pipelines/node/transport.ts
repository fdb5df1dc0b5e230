import http from 'node:http'
import https from 'node:https'
import { NodeFaultError } from './errors.js'

export interface HttpReply {
  readonly status: number
  /** The header Retry-After, in milliseconds. */
  readonly retryAfterMs: number | undefined
  readonly body: string
}

/** Posts JSON to one URL over persistent connections. Credentials are removed from the URL and never appear in messages. */
export class Transport {
  /** host:port of the node, for messages. */
  readonly address: string
  readonly #request: typeof http.request
  readonly #agent: http.Agent
  readonly #options: http.RequestOptions
  readonly #timeoutMs: number

  /** @throws Error for an invalid URL; the message does not contain it. */
  constructor(url: string, timeoutMs: number) {
    if (!URL.canParse(url)) throw new Error('the URL of the node is invalid')
    const parsed = new URL(url)
    const secure = parsed.protocol === 'https:'
    this.address = parsed.host
    this.#timeoutMs = timeoutMs
    this.#request = secure ? https.request : http.request
    this.#agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
    this.#options = {
      protocol: parsed.protocol,
      // The URL parser keeps the brackets around an IPv6 address, which a lookup does not accept.
      hostname: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: parsed.port === '' ? (secure ? 443 : 80) : Number(parsed.port),
      path: `${parsed.pathname}${parsed.search}`,
      method: 'POST',
      agent: this.#agent,
      ...(parsed.username === '' ? {} : { auth: credentials(parsed) }),
    }
  }

  /** Posts a body. @throws NodeFaultError if no complete reply arrives in time; the reason of the signal if it aborts. */
  post(body: string, signal?: AbortSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const request = this.#request({
        ...this.#options,
        headers,
        ...(signal === undefined ? {} : { signal }),
      })
      let late = false
      const timer = setTimeout(() => {
        late = true
        request.destroy()
      }, this.#timeoutMs)
      const fail = (error: Error): void => {
        clearTimeout(timer)
        reject(this.#faultOf(error, late, signal))
      }
      request.on('error', fail)
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('error', fail)
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          clearTimeout(timer)
          resolve({
            status: response.statusCode ?? 0,
            retryAfterMs: retryAfter(response.headers['retry-after']),
            body: Buffer.concat(chunks).toString('utf8'),
          })
        })
      })
      request.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }

  #faultOf(error: Error, late: boolean, signal: AbortSignal | undefined): Error {
    if (signal?.aborted === true) return signal.reason instanceof Error ? signal.reason : error
    if (late) {
      const seconds = String(this.#timeoutMs / 1000)
      return new NodeFaultError('timeout', `the node at ${this.address} did not reply within ${seconds} s`)
    }
    const code = (error as NodeJS.ErrnoException).code ?? error.message
    return new NodeFaultError('unreachable', `no reply from the node at ${this.address}: ${code}`)
  }
}

function credentials(url: URL): string {
  return `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
}

/** Parses Retry-After, seconds or a date, into milliseconds. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined
}
