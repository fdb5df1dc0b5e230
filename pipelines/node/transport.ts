import http from 'node:http'
import https from 'node:https'
import { NodeFaultError } from './errors.js'

export interface HttpReply {
  readonly status: number
  /** What the node's Retry-After asks for, milliseconds. */
  readonly retryAfterMs: number | undefined
  readonly body: string
}

/** Posts JSON to one place over connections that are kept. Credentials leave the URL here and are never shown. */
export class Transport {
  /** host:port, for messages. */
  readonly address: string
  readonly #request: typeof http.request
  readonly #agent: http.Agent
  readonly #options: http.RequestOptions
  readonly #timeoutMs: number

  /** @throws where the URL is none; the message does not repeat it. */
  constructor(url: string, timeoutMs: number) {
    if (!URL.canParse(url)) throw new Error('the URL of the node is not a URL')
    const parsed = new URL(url)
    const secure = parsed.protocol === 'https:'
    this.address = parsed.host
    this.#timeoutMs = timeoutMs
    this.#request = secure ? https.request : http.request
    this.#agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
    this.#options = {
      protocol: parsed.protocol,
      // Node's own parser leaves the brackets around an IPv6 address, which a lookup does not take.
      hostname: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: parsed.port === '' ? (secure ? 443 : 80) : Number(parsed.port),
      path: `${parsed.pathname}${parsed.search}`,
      method: 'POST',
      agent: this.#agent,
      ...(parsed.username === '' ? {} : { auth: credentials(parsed) }),
    }
  }

  /**
   * @throws NodeFaultError where no whole answer came in time; the signal's reason where it aborted.
   */
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

/** Seconds, or a date. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined
}
