import './header-limit.js'
import { STATUS_CODES } from 'node:http'
import uWS, {
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  type us_socket_context_t,
  type WebSocket,
} from 'uWebSockets.js'
import { PortTaken } from '../../ports.js'
import type { Origin } from '../../client-address.js'
import type { Answer, Request } from './dispatch.js'
import type { Channel, Reaction } from '../feed/feed.js'
import type { Observed } from '../health/metrics.js'

export interface ServerParts {
  readonly answer: (request: Request) => Answer | Promise<Answer>
  /** Returns the answer that refuses a WebSocket request, or undefined to accept it. */
  readonly refusal: (request: Request) => Answer | undefined
  /** Called for each answer that was sent, and with status 499 for each whose client disconnected before. */
  readonly observe: (path: string, answer: Observed, seconds: number) => void
  /** Returns the reaction to a client's message; undefined for a binary one. */
  readonly react: (text: string | undefined) => Reaction
}

const SOCKET_PATHS = ['/ws', '/api/v1/ws'] as const
/** Bytes that may wait for a client. Beyond this it is disconnected, and can reconnect with `since`. */
const MAX_BACKPRESSURE = 4 * 2 ** 20
const MAX_BODY_BYTES = 64 * 1024
const MAX_MESSAGE_BYTES = 16 * 1024
/** LIBUS_LISTEN_EXCLUSIVE_PORT; the types declare it in an enum that does not exist at run time. */
const EXCLUSIVE_PORT = 1
const IDLE_SECONDS = 120

/**
 * The headers of every answer: pages of any origin may read it and the listed headers, and browsers must not render it as a page.
 * One value with line breaks, because each call of writeHeader costs as much as finding an answer in memory.
 */
const COMMON_HEADERS = [
  '*',
  'access-control-expose-headers: x-chain-height, x-chain-tip, etag, retry-after',
  'x-content-type-options: nosniff',
  "content-security-policy: default-src 'none'; frame-ancestors 'none'",
  'referrer-policy: no-referrer',
  'cross-origin-resource-policy: cross-origin',
].join('\r\n')

/** Status 499 of nginx: the client disconnected before its answer. */
const CLIENT_DISCONNECTED: Observed = { status: 499 }

const SOCKET_HEADERS = ['sec-websocket-key', 'sec-websocket-protocol', 'sec-websocket-extensions'] as const

type Client = WebSocket<object>
type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void

/** The disconnect of a client before its answer, and the callbacks for it. */
class Disconnect {
  #hasHappened = false
  #callbacks: (() => void)[] = []

  get hasHappened(): boolean {
    return this.#hasHappened
  }

  add(callback: () => void): void {
    if (this.#hasHappened) callback()
    else this.#callbacks.push(callback)
  }

  happened(): void {
    this.#hasHappened = true
    for (const callback of this.#callbacks) callback()
  }
}

/** The HTTP and WebSocket server. The only importer of uWebSockets. */
export class Server {
  readonly #parts: ServerParts
  readonly #app: TemplatedApp
  readonly #clients = new Set<Client>()
  #socket: us_listen_socket | undefined

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.#app = uWS.App()
    for (const path of SOCKET_PATHS) this.#serveSockets(path)
    this.#app.any('/*', (res, req) => {
      this.#serve(res, req)
    })
  }

  get clients(): number {
    return this.#clients.size
  }

  /** Listens on a port, 0 for a free one. @returns the port. @throws PortTaken. */
  async listen(host: string, port: number): Promise<number> {
    // The types lack this overload. Exclusive: a second explorer on the same port must fail instead of sharing it.
    const listen = this.#app.listen.bind(this.#app) as unknown as ListenExclusively
    const socket = await new Promise<us_listen_socket | false>((resolve) => {
      listen(host, port, EXCLUSIVE_PORT, resolve)
    })
    if (socket === false) throw new PortTaken(port, host, 'the explorer (EXPLORER_PORT)')
    this.#socket = socket
    return uWS.us_socket_local_port(socket)
  }

  publish(channel: Channel, message: string): void {
    this.#app.publish(channel, message)
  }

  close(): void {
    if (this.#socket !== undefined) uWS.us_listen_socket_close(this.#socket)
    this.#socket = undefined
    for (const client of [...this.#clients]) client.end(1001, 'the server is stopping')
    this.#app.close()
  }

  #serve(res: HttpResponse, req: HttpRequest): void {
    const began = performance.now()
    const disconnect = new Disconnect()
    const request = requestOf(res, req, disconnect)
    const { method, path } = request
    const answer = this.#parts.answer(request)
    const ended = (made: Observed): void => {
      this.#parts.observe(path, made, (performance.now() - began) / 1000)
    }
    const ending: Ending = { isHead: method === 'HEAD', isLast: hasLargeBody(req) }
    if (!(answer instanceof Promise)) {
      write(res, answer, ending)
      ended(answer)
      return
    }
    res.onAborted(() => {
      disconnect.happened()
    })
    void answer.then((made) => {
      ended(disconnect.hasHappened ? CLIENT_DISCONNECTED : made)
      if (disconnect.hasHappened) return
      res.cork(() => {
        write(res, made, ending)
      })
    })
  }

  #serveSockets(path: string): void {
    this.#app.ws<object>(path, {
      compression: uWS.DISABLED,
      maxPayloadLength: MAX_MESSAGE_BYTES,
      maxBackpressure: MAX_BACKPRESSURE,
      closeOnBackpressureLimit: 1,
      idleTimeout: IDLE_SECONDS,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => {
        this.#upgrade(res, req, context)
      },
      open: (ws) => {
        this.#clients.add(ws)
      },
      message: (ws, message, isBinary) => {
        this.#react(ws, this.#parts.react(isBinary ? undefined : Buffer.from(message).toString()))
      },
      close: (ws) => {
        this.#clients.delete(ws)
      },
    })
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const began = performance.now()
    const request = requestOf(res, req, new Disconnect())
    const refusal = this.#parts.refusal(request)
    if (refusal !== undefined) {
      write(res, refusal, { isHead: false, isLast: false })
      this.#parts.observe(request.path, refusal, (performance.now() - began) / 1000)
      return
    }
    const [key, protocol, extensions] = SOCKET_HEADERS.map((name) => req.getHeader(name))
    res.upgrade({}, key ?? '', protocol ?? '', extensions ?? '', context)
  }

  /** Replies and subscribes in one turn of the event loop, so that no event between replay and live is lost or sent twice. */
  #react(ws: Client, { replies, subscribe, unsubscribe }: Reaction): void {
    ws.cork(() => {
      for (const reply of replies) {
        // The connection was closed because of its backpressure: sending on it is an error.
        if (!this.#clients.has(ws) || ws.send(reply) === 2) return
      }
      if (subscribe !== undefined) ws.subscribe(subscribe)
      if (unsubscribe !== undefined) ws.unsubscribe(unsubscribe)
    })
  }
}

function requestOf(res: HttpResponse, req: HttpRequest, disconnect: Disconnect): Request {
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: queryOf(req),
    ifNoneMatch: req.getHeader('if-none-match'),
    minChainHeight: req.getHeader('x-min-chain-height'),
    onDisconnect: (callback) => {
      disconnect.add(callback)
    },
    authorization: () => req.getHeader('authorization'),
    origin: () => originOf(res, req),
  }
}

function originOf(res: HttpResponse, req: HttpRequest): Origin {
  const forwarded: string[] = []
  // Not getHeader, which returns only the first one: that of the client, before the one that a proxy added.
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') forwarded.push(value)
  })
  return { peer: new Uint8Array(res.getRemoteAddress()), forwardedFor: forwarded.join(',') }
}

/** Returns the query, or an empty string. Without a question mark getQuery returns undefined, unlike its type. */
function queryOf(req: HttpRequest): string {
  const query: string | undefined = req.getQuery()
  return query ?? ''
}

interface Ending {
  readonly isHead: boolean
  /** True to close the connection after the answer. */
  readonly isLast: boolean
}

/** Returns whether the body is large or of unknown length: the connection then closes after the answer. Other bodies are skipped. */
function hasLargeBody(req: HttpRequest): boolean {
  const length = req.getHeader('content-length')
  return (length !== '' && Number(length) > MAX_BODY_BYTES) || req.getHeader('transfer-encoding') !== ''
}

function write(res: HttpResponse, { status, headers, body }: Answer, { isHead, isLast }: Ending): void {
  const hasBody = !isHead && status !== 204 && status !== 304
  // endWithoutBody (3.0.6) cannot close the connection: with any argument it waits for a body indefinitely.
  if (isLast && !hasBody) {
    res.close()
    return
  }
  res.writeStatus(`${String(status)} ${STATUS_CODES[status] ?? ''}`)
  res.writeHeader('access-control-allow-origin', COMMON_HEADERS)
  for (const [name, value] of headers) res.writeHeader(name, value)
  if (hasBody) {
    res.end(body, isLast)
    return
  }
  if (status !== 204) res.writeHeader('content-length', String(body.length))
  res.endWithoutBody()
}
