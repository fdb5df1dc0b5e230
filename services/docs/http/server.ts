import { App } from '@tinyhttp/app'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from '../../../pipelines/logger.js'
import { PortTaken } from '../../ports.js'
import { incomingOf, splitUrl, type Incoming } from './incoming.js'
import { etagOf, JSON_TYPE, matchesTag, Refusal, refusalReply, type Reply } from '../ask/reply.js'

/** Answers a request, or has written the answer itself (undefined). May throw a Refusal. */
export type Handler = (incoming: Incoming) => Reply | undefined | Promise<Reply | undefined>

/** What is found under a path, by method; GET answers HEAD too. */
export interface Endpoint {
  /** `*` at the end takes any rest. */
  readonly pattern: string
  readonly methods: Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', Handler>>>
  /** Whether there is anything at a path that its pattern fits; always where left out. */
  readonly isThere?: (incoming: Incoming) => boolean
}

/** Whether a path is one of an endpoint's, as it is written: tinyhttp alone would take `/Health` for `/health`. */
export function isAt({ pattern }: Endpoint, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replace('*', '.*')}/?$`).test(path)
}

export interface ServerParts {
  /** The first whose pattern fits answers. */
  readonly endpoints: readonly Endpoint[]
  /** Told of each answer that was sent, with the endpoint's pattern. */
  readonly observe: (pattern: string, status: number, seconds: number) => void
  readonly logger: Logger
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const IDLE_TIMEOUT_MS = 75_000
/** After a stop; who still reads then is cut off. */
const STOP_WAIT_MS = 3_000

/** What every answer says: nothing may take it for a page, or for another type than it is. Pages have a policy of their own. */
const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const

/** Reads are open to pages of any origin; questions, which cost, are not. */
const READ_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'etag, x-retrieval',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** The HTTP server. The only place that knows tinyhttp. */
export class Server {
  readonly #parts: ServerParts
  readonly #http: HttpServer
  readonly #incoming = new WeakMap<IncomingMessage, Incoming>()

  constructor(parts: ServerParts) {
    this.#parts = parts
    const app = new App({
      // Addresses, bodies and answers are ours; its extensions of request and response are not used.
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
          // Before tinyhttp, which would decode some of it, and show what fails.
          this.#incoming.set(req, incomingOf(req, res))
          req.url = splitUrl(req.url ?? '/').path
          app.handler(req as never, res as never)
        } catch (error) {
          this.#failed(error, res)
        }
      },
    )
  }

  /** @returns the port. @throws PortTaken. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await once(this.#http.listen({ host, port, exclusive: true }), 'listening')
      return (this.#http.address() as AddressInfo).port
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      throw isTaken ? new PortTaken(port, host, 'the documentation (DOCS_PORT)') : error
    }
  }

  /** Takes no more requests, and waits a moment for those under way. */
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
    const { pattern, methods, isThere } = endpoint
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
        write(req, res, preflight(allow, 'GET' in methods))
        return
      }
      const handler = methods[incoming.method as 'GET']
      if (handler === undefined && isThere?.(incoming) === false)
        throw new Refusal('HW_NOT_FOUND', 'Not Found')
      if (handler === undefined) throw new Refusal('HW_METHOD_NOT_ALLOWED', 'Method Not Allowed', { allow })
      const reply = await handler(incoming)
      if (reply !== undefined) write(req, res, reply)
    } catch (error) {
      this.#failed(error, res)
    }
  }

  #failed(error: unknown, res: ServerResponse): void {
    if (res.headersSent) {
      // What was begun cannot be taken back; an end in the middle is what the client can notice.
      res.destroy()
      return
    }
    if (error instanceof Refusal) {
      write(res.req, res, refusalReply(error))
      return
    }
    if (!res.destroyed) this.#parts.logger.error({ err: error, url: res.req.url }, 'a request failed')
    write(res.req, res, refusalReply(new Refusal('HW_DEFECT', 'Internal Server Error')))
  }
}

/** What a browser is told that asks whether a page of another origin may ask. */
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

function write(req: IncomingMessage, res: ServerResponse, { status, type, body, headers = {} }: Reply): void {
  if (res.destroyed) return
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  if (status === 200 && isRead && headers['cache-control'] !== 'no-store') {
    const etag = headers['etag'] ?? etagOf(body)
    res.setHeader('etag', etag)
    // To be kept, and asked for each time: what changed shows at once.
    if (headers['cache-control'] === undefined) res.setHeader('cache-control', 'no-cache')
    if (matchesTag(req.headers['if-none-match'] ?? '', etag)) {
      res.writeHead(304).end()
      return
    }
  }
  if (status !== 204) res.setHeader('content-type', type)
  res.setHeader('content-length', Buffer.byteLength(body))
  res.writeHead(status)
  res.end(req.method === 'HEAD' ? undefined : body)
}
