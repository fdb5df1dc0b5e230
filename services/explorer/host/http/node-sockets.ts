import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Origin } from '../../../access/client-address.js'
import type { Answer } from '../../http/answer.js'
import type { PlainSocket, Session, SocketProtocol, SocketSizes } from '../../http/sockets.js'

/** The sizes of a protocol that has none of its own. */
const SIZES: SocketSizes = { message: 16 * 1024, backlog: 4 * 2 ** 20 }
/** The interval in which a client must answer a ping. */
const PING_MS = 60_000

/** A connection of a client. */
class Connection implements PlainSocket {
  readonly protocol: string
  readonly #ws: WebSocket
  readonly #backlog: number

  constructor(ws: WebSocket, backlog: number) {
    this.protocol = ws.protocol
    this.#ws = ws
    this.#backlog = backlog
  }

  send(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#ws.send(text, () => {
        resolve()
      })
    })
  }

  sendAll(texts: readonly string[]): boolean {
    for (const text of texts) {
      if (this.#ws.readyState !== this.#ws.OPEN) return false
      if (this.#ws.bufferedAmount > this.#backlog) {
        this.#ws.terminate()
        return false
      }
      this.#ws.send(text)
    }
    return true
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, reason)
  }
}

/** The WebSocket connections of a `NodeServer`. The only importer of `ws`. */
export class NodeSockets {
  readonly #protocols: readonly SocketProtocol<PlainSocket>[]
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: true })
  readonly #alive = new WeakSet<WebSocket>()
  readonly #pinging: NodeJS.Timeout

  constructor(protocols: readonly SocketProtocol<PlainSocket>[]) {
    this.#protocols = protocols
    this.#pinging = setInterval(() => {
      this.#ping()
    }, PING_MS).unref()
  }

  /** The number of open connections. */
  get size(): number {
    return this.#server.clients.size
  }

  /** Returns whether there is a protocol at a path. */
  has(path: string): boolean {
    return this.#protocolAt(path) !== undefined
  }

  /**
   * Opens the connection of a request to upgrade, or answers with a refusal.
   * @param refusal the answer that refuses it, undefined to accept it.
   */
  upgrade(
    { req, socket, head }: { readonly req: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
    {
      path,
      origin,
      refusal,
    }: { readonly path: string; readonly origin: Origin; readonly refusal: Answer | undefined },
  ): void {
    const protocol = this.#protocolAt(path)
    if (protocol === undefined || refusal !== undefined) {
      refuse(socket, refusal)
      return
    }
    const { message, backlog } = protocol.sizes ?? SIZES
    this.#server.options.maxPayload = message
    this.#server.handleUpgrade(req, socket, head, (ws) => {
      this.#open(ws, protocol.open(new Connection(ws, backlog), origin))
    })
  }

  /** Closes all connections. */
  close(): void {
    clearInterval(this.#pinging)
    for (const ws of this.#server.clients) ws.close(1001, 'the server is stopping')
    this.#server.close()
  }

  #protocolAt(path: string): SocketProtocol<PlainSocket> | undefined {
    const at = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
    return this.#protocols.find(({ paths }) => paths.includes(at))
  }

  #open(ws: WebSocket, session: Session): void {
    this.#alive.add(ws)
    ws.on('pong', () => this.#alive.add(ws))
    ws.on('message', (data: Buffer, isBinary) => {
      session.message(data.toString(), isBinary)
    })
    ws.on('close', (code, reason) => {
      session.closed(code, reason.toString())
    })
    // The connection closes after an error, of which the client is the cause.
    ws.on('error', () => undefined)
  }

  #ping(): void {
    for (const ws of this.#server.clients) {
      if (!this.#alive.delete(ws)) ws.terminate()
      else ws.ping()
    }
  }
}

/** Answers a request to upgrade without a connection. */
function refuse(socket: Duplex, answer: Answer | undefined): void {
  const status = answer?.status ?? 404
  const headers = (answer?.headers ?? []).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const body = answer?.body ?? Buffer.alloc(0)
  socket.on('error', () => undefined)
  socket.write(
    `HTTP/1.1 ${String(status)} \r\n${headers}content-length: ${String(body.length)}\r\nconnection: close\r\n\r\n`,
  )
  socket.end(body)
}
