import { App } from '@tinyhttp/app'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { type Coding, compress, LEAST_COMPRESSED } from '../../compression.js'
import { codingFor } from '../../http/content-coding.js'
import { matchesTag } from '../../http/etag.js'
import { errorBody } from '../../../pipelines/errors.js'
import type { Logger } from '../../../pipelines/logger.js'
import { PortTaken } from '../../process/ports.js'
import { incomingOf, splitUrl, type Incoming } from './incoming.js'
import { etagOf, JSON_TYPE, Refusal, refusalReply, type Reply } from './reply.js'

/** Returns the answer to a request, or undefined if it has written the answer itself. May throw a Refusal. */
export type Handler = (incoming: Incoming) => Reply | undefined | Promise<Reply | undefined>

/** The handlers of a path, by method. GET also handles HEAD. */
export interface Endpoint {
  /** Path of the endpoint. `*` at the end matches any rest. */
  readonly pattern: string
  readonly methods: Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', Handler>>>
  /** Returns whether there is anything at a path that matches the pattern. If left out, there always is. May throw a Refusal. */
  readonly exists?: (incoming: Incoming) => boolean
}

/** Returns whether a path matches an endpoint. The match is case-sensitive; tinyhttp alone would accept `/Health` for `/health`. */
export function isAt({ pattern }: Endpoint, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replace('*', '.*')}/?$`).test(path)
}

export interface ServerParts {
  /** All endpoints; the first endpoint that matches handles a request. */
  readonly endpoints: readonly Endpoint[]
  /** Called after each answer, with the pattern of its endpoint. */
  readonly observe: (pattern: string, status: number, seconds: number) => void
  readonly logger: Logger
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const IDLE_TIMEOUT_MS = 75_000
/** The time for requests in progress after a stop; then their connections are closed. */
const STOP_WAIT_MS = 3_000

/** The answers to requests that cannot be parsed, by the code of the error. */
const MALFORMED: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request was not complete in time'],
}

/** The headers of every answer: browsers must not treat it as a page, or guess its type. Pages have another policy. */
const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const

/** The headers of reads, which are open to pages of any origin. Questions are not, because they have costs. */
const READ_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'etag, x-retrieval',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** The HTTP server. Only this file imports tinyhttp. */
export class Server {
  readonly #parts: ServerParts
  readonly #http: HttpServer
  readonly #incoming = new WeakMap<IncomingMessage, Incoming>()

  constructor(parts: ServerParts) {
    this.#parts = parts
    const app = new App({
      // Its extensions of request and response are not used: addresses, bodies and answers are handled here.
      applyExtensions: (_req, _res, next) => {
        next()
      },
      settings: { xPoweredBy: false },
      onError: (error, _req, res) => {
        this.#failed(error, res)
      },
    })
    for (const endpoint of parts.endpoints)
      app.all(endpoint.pattern, (req, res, next) => {
        if (isAt(endpoint, req.url)) void this.#answer(endpoint, req, res)
        else void next()
      })
    this.#http = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: IDLE_TIMEOUT_MS,
      },
      (req, res) => {
        try {
          // Parsed before tinyhttp, which would decode parts of the URL, and return errors with their details.
          this.#incoming.set(req, incomingOf(req, res))
          req.url = splitUrl(req.url ?? '/').path
          app.handler(req as never, res as never)
        } catch (error) {
          this.#failed(error, res)
        }
      },
    )
    this.#http.on('clientError', (error, socket) => {
      this.#refuse(error, socket)
    })
  }

  /** Answers what is no request of HTTP, of which Node would only close the connection or send a status without a body. */
  #refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const [status, message] = MALFORMED[error.code ?? ''] ?? [
      '400 Bad Request',
      'The request is not valid HTTP',
    ]
    const body = JSON.stringify(errorBody('HW_INVALID_ARGUMENT', message))
    const head = [
      `HTTP/1.1 ${status}`,
      `content-type: ${JSON_TYPE}`,
      `content-length: ${String(Buffer.byteLength(body))}`,
      'connection: close',
    ]
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  }

  /** Starts to listen. @returns the port. @throws PortTaken if another process listens on it. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await once(this.#http.listen({ host, port, exclusive: true }), 'listening')
      return (this.#http.address() as AddressInfo).port
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      throw isTaken ? new PortTaken(port, host, 'the documentation (DOCS_PORT)') : error
    }
  }

  /** Stops accepting requests, and waits up to STOP_WAIT_MS for requests in progress. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#http.close(resolve))
    this.#http.closeIdleConnections()
    const timer = setTimeout(() => {
      this.#http.closeAllConnections()
    }, STOP_WAIT_MS)
    await closed
    clearTimeout(timer)
  }

  async #answer(endpoint: Endpoint, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pattern, methods, exists } = endpoint
    const began = performance.now()
    res.once('close', () => {
      this.#parts.observe(pattern, res.statusCode, (performance.now() - began) / 1000)
    })
    try {
      const allow = [...Object.keys(methods), ...('GET' in methods ? ['HEAD'] : []), 'OPTIONS'].join(', ')
      const incoming = this.#incoming.get(req) ?? incomingOf(req, res)
      for (const [name, value] of Object.entries(COMMON_HEADERS)) res.setHeader(name, value)
      if ('GET' in methods)
        for (const [name, value] of Object.entries(READ_HEADERS)) res.setHeader(name, value)
      if (incoming.method === 'OPTIONS') {
        await write(req, res, preflight(allow, 'GET' in methods))
        return
      }
      const handler = methods[incoming.method as 'GET']
      if (handler === undefined && exists?.(incoming) === false)
        throw new Refusal('HW_NOT_FOUND', 'Not Found')
      if (handler === undefined) throw new Refusal('HW_METHOD_NOT_ALLOWED', 'Method Not Allowed', { allow })
      const reply = await handler(incoming)
      if (reply !== undefined) await write(req, res, reply)
    } catch (error) {
      this.#failed(error, res)
    }
  }

  #failed(error: unknown, res: ServerResponse): void {
    if (res.headersSent) {
      // The answer has begun, so the client can only notice the error by the end of the connection.
      res.destroy()
      return
    }
    if (error instanceof Refusal) {
      void write(res.req, res, refusalReply(error))
      return
    }
    if (!res.destroyed) this.#parts.logger.error({ err: error, url: res.req.url }, 'request failed')
    void write(res.req, res, refusalReply(new Refusal('HW_DEFECT', 'Internal Server Error')))
  }
}

/** Returns the answer to a CORS preflight request. */
function preflight(allow: string, isRead: boolean): Reply {
  const headers = isRead
    ? {
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-allow-headers': 'accept, if-none-match',
        'access-control-max-age': '86400',
      }
    : undefined
  return { status: 204, type: JSON_TYPE, body: '', headers: { allow, ...headers } }
}

/** Compressed bodies by coding and ETag, because most requests are for the same pages. */
const compressed = new LRUCache<string, Buffer>({
  maxSize: 4 * 2 ** 20,
  sizeCalculation: ({ length }, key) => length + key.length + 100,
})

/** Returns a body in a coding. @param etag identifies the body; empty if it is not cached. */
async function coded(body: Buffer, coding: Coding, etag: string): Promise<Buffer> {
  const key = `${coding} ${etag}`
  const cachedBody = etag === '' ? undefined : compressed.get(key)
  if (cachedBody !== undefined) return cachedBody
  const result = await compress(body, coding)
  if (etag !== '') compressed.set(key, result)
  return result
}

async function write(req: IncomingMessage, res: ServerResponse, reply: Reply): Promise<void> {
  const { status, type, headers = {} } = reply
  const whole = Buffer.from(reply.body)
  const coding = codingFor(whole, req.headers['accept-encoding'] ?? '')
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  const isTagged = status === 200 && isRead && headers['cache-control'] !== 'no-store'
  const own = isTagged ? (headers['etag'] ?? etagOf(whole)) : ''
  const body = coding === undefined ? whole : await coded(whole, coding, own)
  if (res.destroyed) return
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (whole.length >= LEAST_COMPRESSED)
    res.setHeader('vary', [headers['vary'], 'Accept-Encoding'].filter(Boolean).join(', '))
  if (isTagged) {
    const etag = coding === undefined ? own : `${own.slice(0, -1)}-${coding}"`
    res.setHeader('etag', etag)
    // May be stored, but must be revalidated each time, so that changes are visible at once.
    if (headers['cache-control'] === undefined) res.setHeader('cache-control', 'no-cache')
    if (matchesTag(req.headers['if-none-match'] ?? '', etag)) {
      res.writeHead(304).end()
      return
    }
  }
  if (coding !== undefined) res.setHeader('content-encoding', coding)
  if (status !== 204) res.setHeader('content-type', type)
  res.setHeader('content-length', body.length)
  res.writeHead(status)
  res.end(req.method === 'HEAD' ? undefined : body)
}
