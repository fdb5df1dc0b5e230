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
import { EXPLORER_HTTP, PortTaken } from '../../../process/ports.js'
import type { Origin } from '../../../access/client-address.js'
import { Backlog } from '../../http/backlog.js'
import { MAX_COPIED_BYTES, slicesOf, WaitingBodies } from './waiting-bodies.js'
import type { Answer, Observed, Request, RequestHead } from '../../http/answer.js'
import { MAX_BODY } from '../../http/body.js'
import { COMMON_HEADERS, commonHeaders } from './answer-headers.js'
import { Disconnect } from './disconnect.js'
import type { Session, Socket, SocketProtocol, SocketSizes } from '../../http/sockets.js'

/** The handlers of the requests of a server. */
export interface Handlers {
  readonly answer: (request: Request) => Answer | Promise<Answer>
  /** Returns the answer to a GET or HEAD request of a URL, with its query, if nothing needs to be made for it. */
  readonly ready?: (url: string, head: RequestHead) => Answer | undefined
  /** Returns the answer that refuses a WebSocket request, or undefined to accept it. */
  readonly refusal: (request: Request) => Answer | undefined | Promise<Answer | undefined>
  /** Called for each answer that was sent, and with status 499 for each whose client disconnected before. */
  readonly observe: (path: string, answer: Observed, seconds: number) => void
  /** The protocols of WebSocket connections, each at paths of its own. Not set: there are none. */
  readonly protocols?: readonly SocketProtocol[]
}

/** The sizes of the feed, whose disconnected clients can reconnect with `since`. */
const SIZES: SocketSizes = { message: 16 * 1024, backlog: 4 * 2 ** 20 }
/**
 * The bytes of a message beyond its maximum size from which on uWebSockets closes the connection without a status (1006). It stores what
 * it has received of a shorter one until it is complete.
 */
const MAX_EXCESS_BYTES = 240 * 1024
/**
 * LIBUS_LISTEN_DEFAULT, which sets SO_REUSEPORT: Linux then balances the connections among the processes that listen on the port.
 * The types declare it in an enum that does not exist at run time.
 */
const SHARED_PORT = 0
/** LIBUS_LISTEN_EXCLUSIVE_PORT. */
const EXCLUSIVE_PORT = 1
const IDLE_SECONDS = 120
const BACKLOG_CHECK_MS = 1_000

/** The status lines that were sent so far, by status. */
const STATUS_LINES: Record<number, string> = {}

/** Status 499 of nginx: the client disconnected before its answer. */
const CLIENT_DISCONNECTED: Observed = { status: 499 }

const SOCKET_HEADERS = ['sec-websocket-key', 'sec-websocket-protocol', 'sec-websocket-extensions'] as const

interface ClientData {
  /** The protocol that the client and the server have agreed on; empty for none. */
  readonly protocol: string
  readonly origin: Origin
  connection?: Connection
  session?: Session
}

type Client = WebSocket<ClientData>
type Listen = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => void

/** The request that is being handed over: one object for all requests of a server. */
class Incoming implements RequestHead {
  res: HttpResponse | undefined
  req: HttpRequest | undefined

  getHeader(name: string): string {
    return this.req?.getHeader(name) ?? ''
  }

  origin(): Origin {
    if (this.res === undefined || this.req === undefined) throw new Error('no request is being handed over')
    return originOf(this.res, this.req)
  }
}

/** The connection of a WebSocket client. */
class Connection implements Socket {
  readonly protocol: string
  readonly #ws: Client
  #isOpen = true
  /** Callbacks for the moment at which there is room for the next message. */
  #drained: (() => void)[] = []

  constructor(ws: Client) {
    this.#ws = ws
    this.protocol = ws.getUserData().protocol
  }

  send(text: string): Promise<void> {
    // The connection was closed, or is being closed because of its backpressure.
    if (!this.#isOpen || this.#ws.send(text) !== 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained.push(resolve)
    })
  }

  sendAll(texts: readonly string[]): boolean {
    let isTaken = this.#isOpen
    if (isTaken)
      this.#ws.cork(() => {
        // Sending on a connection that was closed because of its backpressure is an error.
        for (const text of texts) if (!(isTaken &&= this.#isOpen && this.#ws.send(text) !== 2)) return
      })
    return isTaken
  }

  subscribe(name: string): void {
    if (this.#isOpen) this.#ws.subscribe(name)
  }

  unsubscribe(name: string): void {
    if (this.#isOpen) this.#ws.unsubscribe(name)
  }

  close(code: number, reason: string): void {
    // Not while a message is being handled: the connection would end within its handler.
    setImmediate(() => {
      if (this.#isOpen) this.#ws.end(code, reason)
    })
  }

  drained(): void {
    for (const callback of this.#drained.splice(0)) callback()
  }

  closed(): void {
    this.#isOpen = false
    this.drained()
  }
}

/** The HTTP and WebSocket server. The only importer of uWebSockets. */
export class Server {
  #parts!: Handlers
  readonly #basePath: string
  readonly #app: TemplatedApp = uWS.App()
  readonly #clients = new Set<Client>()
  readonly #backlog = new Backlog()
  readonly #waiting = new WaitingBodies()
  #checking: NodeJS.Timeout | undefined
  readonly #incoming = new Incoming()
  #socket: us_listen_socket | undefined

  /** @param basePath the path below which clients reach the server. A proxy may have removed it. */
  constructor(basePath = '') {
    this.#basePath = basePath
  }

  /** Answers requests with these handlers. Called once, before the server listens. */
  serve(handlers: Handlers): void {
    this.#parts = handlers
    for (const protocol of handlers.protocols ?? []) this.#serveSockets(protocol)
    this.#app.any('/*', (res, req) => {
      this.#serve(res, req)
    })
  }

  get clients(): number {
    return this.#clients.size
  }

  /**
   * Listens on a port, 0 for a free one.
   * @param isShared whether other processes of this explorer listen on the port too. Otherwise a second explorer must fail instead
   * of sharing it.
   * @returns the port. @throws PortTaken.
   */
  async listen(host: string, port: number, isShared = false): Promise<number> {
    // The types lack this overload.
    const listen = this.#app.listen.bind(this.#app) as unknown as Listen
    const socket = await new Promise<us_listen_socket | false>((resolve) => {
      listen(host, port, isShared ? SHARED_PORT : EXCLUSIVE_PORT, resolve)
    })
    if (socket === false) throw new PortTaken(port, host, EXPLORER_HTTP)
    this.#socket = socket
    this.#checking = setInterval(() => {
      this.#backlog.check(this.#clients)
      this.#waiting.check()
    }, BACKLOG_CHECK_MS).unref()
    return uWS.us_socket_local_port(socket)
  }

  /** Sends a message to all connections that have subscribed to a name. */
  publish(name: string, message: string): void {
    this.#app.publish(name, message)
  }

  close(): void {
    clearInterval(this.#checking)
    if (this.#socket !== undefined) uWS.us_listen_socket_close(this.#socket)
    this.#socket = undefined
    for (const client of [...this.#clients]) client.end(1001, 'the server is stopping')
    this.#app.close()
  }

  #serve(res: HttpResponse, req: HttpRequest): void {
    const began = performance.now()
    if (this.#sendReady(res, req, began)) return
    const disconnect = new Disconnect()
    const request = requestOf(res, req, this.#pathOf(req), disconnect)
    const { method, path } = request
    const answer = this.#parts.answer(request)
    const observe = (outcome: Observed): void => {
      this.#parts.observe(path, outcome, (performance.now() - began) / 1000)
    }
    const isHead = method === 'HEAD'
    const isLarge = hasLargeBody(req)
    if (!(answer instanceof Promise)) {
      this.#write(res, answer, { isHead, isLast: isLarge })
      observe(answer)
      return
    }
    res.onAborted(() => {
      disconnect.happened()
    })
    void answer.then((result) => {
      if (result.parts !== undefined) {
        void this.#stream(res, { ...result, parts: result.parts }, disconnect, {
          isHead,
          isLast: isLarge,
        }).then(observe)
        return
      }
      observe(disconnect.hasHappened ? CLIENT_DISCONNECTED : result)
      if (disconnect.hasHappened) return
      disconnect.forget()
      res.cork(() => {
        this.#write(res, result, { isHead, isLast: isLarge && !disconnect.isBodyRead }, disconnect)
      })
    })
  }

  /**
   * Sends an answer. A large body is handed over as the client reads it.
   * @param disconnect the watch of the client's connection, if it is watched already.
   */
  #write(res: HttpResponse, answer: Answer, ending: Ending, disconnect?: Disconnect): void {
    const { body } = answer
    if (body.length <= MAX_COPIED_BYTES || !hasBody(answer, ending)) {
      write(res, answer, ending)
      return
    }
    const watch = disconnect ?? new Disconnect()
    if (disconnect === undefined)
      res.onAborted(() => {
        watch.happened()
      })
    // The other way cannot close the connection.
    if (ending.isLast) {
      let read = 0
      const waiting = { body, began: performance.now(), read: () => read, close: () => res.close() }
      const end = this.#waiting.add(waiting)
      const parts = slicesOf(body, (bytes) => (read = bytes))
      void this.#stream(res, { ...answer, parts }, watch, ending).finally(end)
    } else {
      writeHead(res, answer)
      this.#waiting.send(res, body, (callback) => watch.add(callback))
    }
  }

  /**
   * Sends an answer part by part, each when the client has taken most of the previous part. A client that takes nothing for ten
   * seconds is disconnected by uWebSockets.
   * @returns what was observed in the end.
   */
  async #stream(
    res: HttpResponse,
    { parts, ...answer }: Answer & Required<Pick<Answer, 'parts'>>,
    disconnect: Disconnect,
    { isHead, isLast }: Ending,
  ): Promise<Observed> {
    // A function, because the value changes during each await.
    const hasGone = (): boolean => disconnect.hasHappened
    let writable: () => void = () => undefined
    disconnect.add(() => {
      writable()
    })
    if (!hasGone()) {
      res.onWritable(() => {
        writable()
        return true
      })
      res.cork(() => {
        writeHead(res, answer)
        if (isHead) res.endWithoutBody()
      })
    }
    try {
      while (!isHead && !hasGone()) {
        const part = await parts.next()
        if (hasGone() || part.done === true) break
        let isTaken = true
        res.cork(() => {
          isTaken = res.write(part.value)
        })
        if (!isTaken && !hasGone()) await new Promise<void>((resolve) => (writable = resolve))
      }
    } catch {
      // The client sees an answer without an end. The parts have reported the error.
      if (!hasGone()) res.close()
      return { ...answer, status: 500 }
    } finally {
      await parts.return(undefined)
    }
    if (hasGone()) return CLIENT_DISCONNECTED
    if (!isHead)
      res.cork(() => {
        res.end(undefined, isLast)
      })
    return answer
  }

  /** Sends the answer to a request if nothing needs to be made for it. @returns whether it was sent. */
  #sendReady(res: HttpResponse, req: HttpRequest, began: number): boolean {
    const method = req.getCaseSensitiveMethod()
    if (this.#parts.ready === undefined || (method !== 'GET' && method !== 'HEAD')) return false
    const path = this.#pathOf(req)
    const query = queryOf(req)
    this.#incoming.res = res
    this.#incoming.req = req
    const answer = this.#parts.ready(query === '' ? path : `${path}?${query}`, this.#incoming)
    if (answer === undefined) return false
    this.#write(res, answer, { isHead: method === 'HEAD', isLast: hasLargeBody(req) })
    this.#parts.observe(path, answer, (performance.now() - began) / 1000)
    return true
  }

  #serveSockets(protocol: SocketProtocol): void {
    for (const base of new Set(['', this.#basePath]))
      for (const path of protocol.paths)
        for (const each of [base + path, `${base}${path}/`]) this.#serveSocketsAt(each, protocol)
  }

  #serveSocketsAt(path: string, protocol: SocketProtocol): void {
    const { message: maxBytes, backlog } = protocol.sizes ?? SIZES
    this.#app.ws<ClientData>(path, {
      compression: uWS.DISABLED,
      maxPayloadLength: maxBytes + MAX_EXCESS_BYTES,
      maxBackpressure: backlog,
      closeOnBackpressureLimit: 1,
      idleTimeout: IDLE_SECONDS,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => {
        this.#upgrade(res, req, context, protocol)
      },
      open: (ws) => {
        this.#clients.add(ws)
        const data = ws.getUserData()
        data.connection = new Connection(ws)
        data.session = protocol.open(data.connection, data.origin)
      },
      drain: (ws) => {
        if (ws.getBufferedAmount() === 0) ws.getUserData().connection?.drained()
      },
      message: (ws, message, isBinary) => {
        if (message.byteLength > maxBytes) {
          ws.end(1009, `a message may have at most ${String(maxBytes)} bytes`)
          return
        }
        ws.getUserData().session?.message(Buffer.from(message).toString(), isBinary)
      },
      close: (ws, code, reason) => {
        this.#clients.delete(ws)
        const { connection, session } = ws.getUserData()
        connection?.closed()
        session?.closed(code, Buffer.from(reason).toString())
      },
    })
  }

  /** Returns the path of a request below the base path. */
  #pathOf(req: HttpRequest): string {
    const path = req.getUrl()
    const basePath = this.#basePath
    if (basePath === '' || !path.startsWith(basePath)) return path
    const rest = path.slice(basePath.length)
    if (rest === '') return '/'
    return rest.startsWith('/') ? rest : path
  }

  #upgrade(
    res: HttpResponse,
    req: HttpRequest,
    context: us_socket_context_t,
    socketProtocol: SocketProtocol,
  ): void {
    const began = performance.now()
    const disconnect = new Disconnect()
    const request = requestOf(res, req, this.#pathOf(req), disconnect)
    const refusal = this.#parts.refusal(request)
    const [key, offered = '', extensions] = SOCKET_HEADERS.map((name) => req.getHeader(name))
    const protocol = socketProtocol.choose(offered)
    const origin = request.origin()
    const end = (refused: Answer | undefined): void => {
      if (refused === undefined) {
        res.upgrade<ClientData>({ protocol, origin }, key ?? '', protocol, extensions ?? '', context)
        return
      }
      write(res, refused, { isHead: false, isLast: false })
      this.#parts.observe(request.path, refused, (performance.now() - began) / 1000)
    }
    if (!(refusal instanceof Promise)) {
      end(refusal)
      return
    }
    res.onAborted(() => {
      disconnect.happened()
    })
    void refusal.then((refused) => {
      if (disconnect.hasHappened) return
      res.cork(() => {
        end(refused)
      })
    })
  }
}

function requestOf(res: HttpResponse, req: HttpRequest, path: string, disconnect: Disconnect): Request {
  return {
    method: req.getCaseSensitiveMethod(),
    path,
    query: queryOf(req),
    ifNoneMatch: req.getHeader('if-none-match'),
    acceptEncoding: req.getHeader('accept-encoding'),
    minChainHeight: req.getHeader('x-min-chain-height'),
    accept: req.getHeader('accept'),
    acceptLanguage: req.getHeader('accept-language'),
    host: req.getHeader('host'),
    contentType: req.getHeader('content-type'),
    onDisconnect: (callback) => {
      disconnect.add(callback)
    },
    authorization: () => req.getHeader('authorization'),
    origin: () => originOf(res, req),
    body: (maxBytes) => bodyOf(res, maxBytes, disconnect),
  }
}

/** Reads the body of a request. @returns undefined if it has more bytes than this, or the client has disconnected. */
function bodyOf(res: HttpResponse, maxBytes: number, disconnect: Disconnect): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = []
    let bytes = 0
    res.onData((chunk, isLast) => {
      bytes += chunk.byteLength
      if (bytes > maxBytes) {
        chunks = []
        resolve(undefined)
        // A copy, because the memory of the chunk is valid only now.
      } else chunks.push(Buffer.from(Buffer.from(chunk)))
      if (!isLast) return
      disconnect.isBodyRead = true
      resolve(Buffer.concat(chunks))
    })
    disconnect.add(() => {
      resolve(undefined)
    })
  })
}

function originOf(res: HttpResponse, req: HttpRequest): Origin {
  const forwarded: string[] = []
  // Not getHeader, which returns only the first header: the client's header, before the header that a proxy added.
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

/**
 * Returns whether the body is larger than any that the API accepts, or of unknown length: the connection then closes after the answer.
 * Other bodies are skipped, because a proxy that is still sending one would take the end of the connection for a failure.
 */
function hasLargeBody(req: HttpRequest): boolean {
  const length = req.getHeader('content-length')
  return (length !== '' && Number(length) > MAX_BODY) || req.getHeader('transfer-encoding') !== ''
}

function writeHead(
  res: HttpResponse,
  { status, headers, policy }: Pick<Answer, 'status' | 'headers' | 'policy'>,
): void {
  // The default is 200 OK.
  if (status !== 200)
    res.writeStatus((STATUS_LINES[status] ??= `${String(status)} ${STATUS_CODES[status] ?? ''}`))
  res.writeHeader(
    'access-control-allow-origin',
    policy === undefined ? COMMON_HEADERS : commonHeaders(policy),
  )
  for (const header of headers) res.writeHeader(header[0], header[1])
}

const hasBody = ({ status }: Answer, { isHead }: Ending): boolean =>
  !isHead && status !== 204 && status !== 304

function write(res: HttpResponse, answer: Answer, ending: Ending): void {
  const { status, body } = answer
  const { isLast } = ending
  // endWithoutBody (3.0.6) cannot close the connection: with any argument it waits for a body indefinitely.
  if (isLast && !hasBody(answer, ending)) {
    res.close()
    return
  }
  writeHead(res, answer)
  if (hasBody(answer, ending)) {
    res.end(body, isLast)
    return
  }
  if (status !== 204) res.writeHeader('content-length', String(body.length))
  res.endWithoutBody()
}
