import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Origin } from '../../../access/client-address.js'
import { addressBytes } from '../../../access/ip-address.js'
import { assertPortFree } from '../../../process/ports.js'
import type { ListenAddress, Listener } from '../../faces/face.js'
import type { Answer, Request, RequestHead } from '../../http/answer.js'
import { COMMON_HEADERS, commonHeaders } from './answer-headers.js'
import { Disconnect } from './disconnect.js'
import type { PlainSocket, SocketProtocol } from '../../http/sockets.js'
import { NodeSockets } from './node-sockets.js'
import type { Handlers } from './server.js'
import { MAX_COPIED_BYTES, WaitingBodies } from './waiting-bodies.js'

/** The handlers of the requests of a server. */
export type NodeHandlers = Required<Pick<Handlers, 'answer' | 'ready' | 'observe' | 'refusal'>> & {
  /** The protocols of WebSocket connections, each at paths of its own. */
  readonly sockets: readonly SocketProtocol<PlainSocket>[]
}

export interface NodeServerOptions {
  /** The use of the port and its setting, for the error if it is in use. */
  readonly what: string
  /** The path below which clients may reach the server too. */
  readonly alias?: string
}

/** The time for which a connection without a request is kept: longer than proxies and clients keep theirs. */
const KEEP_ALIVE_MS = 75_000
/** The time after which a client that takes nothing of its answer is disconnected. */
const IDLE_MS = 30_000
/** The maximum time that the end of the server waits for answers in progress. */
const STOP_WAIT_MS = 1_000
const CLIENT_DISCONNECTED = { status: 499 } as const

/**
 * A server of HTTP on `node:http`, for faces whose clients send further requests on a connection before they have the answers: they are
 * answered in their order. uWebSockets closes such a connection.
 */
export class NodeServer {
  readonly #handlers: NodeHandlers
  readonly #options: NodeServerOptions
  readonly #waiting = new WaitingBodies()
  readonly #sockets: NodeSockets
  readonly #server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    this.#answer(req, res)
  })

  constructor(handlers: NodeHandlers, options: NodeServerOptions) {
    this.#handlers = handlers
    this.#options = options
    this.#server.timeout = IDLE_MS
    this.#sockets = new NodeSockets(handlers.sockets)
    this.#server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
      // Pings find the connections whose clients are gone.
      socket.setTimeout(0)
      void this.#upgrade(req, socket, head)
    })
  }

  /** Listens until the listener is closed. @throws PortTaken, StartRefused. */
  async listen({ host, port, isShared }: ListenAddress): Promise<Listener> {
    // The primary of several processes has checked a port that they share.
    if (port !== 0 && !isShared) await assertPortFree(port, host, this.#options.what)
    const server = this.#server.listen({ host, port, exclusive: !isShared })
    await once(server, 'listening')
    const sockets = this.#sockets
    return {
      port: (server.address() as AddressInfo).port,
      get streams() {
        return sockets.size
      },
      setServing: () => undefined,
      close: async () => {
        sockets.close()
        const closed = once(server, 'close')
        server.close()
        server.closeIdleConnections()
        const timer = setTimeout(() => {
          server.closeAllConnections()
        }, STOP_WAIT_MS)
        await closed
        clearTimeout(timer)
      },
    }
  }

  async #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const began = performance.now()
    const target = this.#target(req.url ?? '/')
    const disconnect = new Disconnect()
    socket.once('close', () => {
      disconnect.happened()
    })
    const request = requestOf(req, target, disconnect)
    // Another path answers as it does without the header.
    const refusal = this.#sockets.has(target.path)
      ? await this.#handlers.refusal(request)
      : await this.#handlers.answer(request)
    if (disconnect.hasHappened) return
    const { path } = target
    this.#sockets.upgrade({ req, socket, head }, { path, origin: originOf(req), refusal })
    if (refusal !== undefined) this.#handlers.observe(path, refusal, (performance.now() - began) / 1_000)
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const began = performance.now()
    const { path, query } = this.#target(req.url ?? '/')
    const isHead = req.method === 'HEAD'
    const observe = (answer: Pick<Answer, 'status' | 'route' | 'code'>): void => {
      this.#handlers.observe(path, answer, (performance.now() - began) / 1_000)
    }
    if (req.method === 'GET' || isHead) {
      const ready = this.#handlers.ready(query === '' ? path : `${path}?${query}`, headOf(req))
      if (ready !== undefined) {
        this.#write(res, ready, isHead)
        observe(ready)
        return
      }
    }
    const disconnect = new Disconnect()
    res.once('close', () => {
      if (!res.writableEnded) disconnect.happened()
    })
    const end = (answer: Answer): void => {
      if (disconnect.hasHappened) {
        observe(CLIENT_DISCONNECTED)
        return
      }
      disconnect.forget()
      // A body that was not read would be taken for the next request.
      if (!req.complete && hasBody(req)) res.shouldKeepAlive = false
      this.#write(res, answer, isHead)
      observe(answer)
    }
    const answer = this.#handlers.answer(requestOf(req, { path, query }, disconnect))
    if (answer instanceof Promise) void answer.then(end)
    else end(answer)
  }

  #target(url: string): { readonly path: string; readonly query: string } {
    const { alias = '' } = this.#options
    const at = url.indexOf('?')
    const path = at < 0 ? url : url.slice(0, at)
    const query = at < 0 ? '' : url.slice(at + 1)
    if (alias === '' || !path.startsWith(alias)) return { path, query }
    const rest = path.slice(alias.length)
    return { path: rest === '' ? '/' : rest.startsWith('/') ? rest : path, query }
  }

  #write(res: ServerResponse, answer: Answer, isHead: boolean): void {
    const { status, body, parts } = answer
    if (parts !== undefined) {
      res.writeHead(status, [...linesOf(answer)])
      // The client sees an answer without an end. The parts have reported the error.
      void pipeline(Readable.from(isHead ? [] : parts), res).catch(() => undefined)
      return
    }
    res.writeHead(status, [...linesOf(answer), 'content-length', String(body.length)])
    if (isHead || status === 304) {
      res.end()
      return
    }
    res.end(body)
    const { socket } = res
    if (body.length <= MAX_COPIED_BYTES || socket === null || res.writableFinished) return
    // Bodies that clients have not read yet are in memory: the slowest reader goes first.
    const read = (): number => Math.max(0, body.length - socket.writableLength)
    const close = (): void => {
      socket.destroy()
    }
    res.once('close', this.#waiting.add({ body, began: performance.now(), read, close }))
  }
}

const headersOf = new WeakMap<Answer, readonly string[]>()

/** Returns the headers of an answer as names and values in turn, once for each answer. */
function linesOf(answer: Answer): readonly string[] {
  const known = headersOf.get(answer)
  if (known !== undefined) return known
  const { headers, policy } = answer
  const common = policy === undefined ? COMMON_HEADERS : commonHeaders(policy)
  // A value may have further headers after line breaks, see `joined`.
  const lines = [['access-control-allow-origin', common] as const, ...headers].flatMap(([name, value]) =>
    `${name}: ${value}`.split('\r\n').flatMap((line) => {
      const end = line.indexOf(': ')
      return [line.slice(0, end), line.slice(end + 2)]
    }),
  )
  headersOf.set(answer, lines)
  return lines
}

function headOf(req: IncomingMessage): RequestHead {
  return { getHeader: (name) => headerOf(req, name), origin: () => originOf(req) }
}

/** Returns a header, empty if there is none. */
function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : (value?.join(', ') ?? '')
}

function originOf(req: IncomingMessage): Origin {
  return {
    peer: addressBytes(req.socket.remoteAddress ?? ''),
    forwardedFor: headerOf(req, 'x-forwarded-for'),
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function requestOf(
  req: IncomingMessage,
  { path, query }: Pick<Request, 'path' | 'query'>,
  disconnect: Disconnect,
): Request {
  return {
    method: req.method ?? 'GET',
    path,
    query,
    ifNoneMatch: headerOf(req, 'if-none-match'),
    acceptEncoding: headerOf(req, 'accept-encoding'),
    minChainHeight: headerOf(req, 'x-min-chain-height'),
    accept: headerOf(req, 'accept'),
    acceptLanguage: headerOf(req, 'accept-language'),
    host: headerOf(req, 'host'),
    contentType: headerOf(req, 'content-type'),
    onDisconnect: (callback) => {
      disconnect.add(callback)
    },
    authorization: () => headerOf(req, 'authorization'),
    origin: () => originOf(req),
    body: (maxBytes) => bodyOf(req, maxBytes),
  }
}

/** Reads the body of a request. @returns undefined if it has more bytes than this, or the client has disconnected. */
function bodyOf(req: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
      else {
        req.pause()
        resolve(undefined)
      }
    })
    req.once('end', () => {
      resolve(Buffer.concat(chunks))
    })
    req.once('close', () => {
      resolve(undefined)
    })
  })
}
