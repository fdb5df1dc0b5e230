import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

interface Tap {
  readonly text: string
  readonly found: () => void
}

/** Held requests, each with the bytes that its client had sent when it was noticed. */
export class Hold {
  readonly #kept: { readonly client: Socket; readonly bytes: Buffer }[] = []
  /** True after a released request was answered. */
  answered = false

  constructor(
    readonly text: string,
    private readonly pass: (client: Socket, bytes: Buffer, hold: Hold) => void,
  ) {}

  get count(): number {
    return this.#kept.length
  }

  keep(client: Socket, bytes: Buffer): void {
    this.#kept.push({ client, bytes })
  }

  /** Resets the connections whose requests are still held. */
  drop(): void {
    for (const { client } of this.#kept.splice(0)) client.resetAndDestroy()
  }

  /** Sends the held requests, also of clients that have disconnected: the requests were in flight. */
  release(): void {
    for (const { client, bytes } of this.#kept.splice(0)) this.pass(client, bytes, this)
  }
}

/** A proxy between two processes that can fail as a network does. */
export class TcpProxy {
  #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #paused = false
  #tap: Tap | undefined
  /** Added to new requests. */
  #holding: Hold | undefined
  readonly #holds: Hold[] = []

  private constructor(
    readonly port: number,
    private readonly target: { readonly host: string; readonly port: number },
    server: Server,
  ) {
    this.#server = server
  }

  /** Listens on a free port and forwards to the host and port of a URL. */
  static async before(url: string): Promise<TcpProxy> {
    const { hostname: host, port } = new URL(url)
    const server = await listening(0)
    const proxy = new TcpProxy((server.address() as AddressInfo).port, { host, port: Number(port) }, server)
    proxy.#serve(server)
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`
  }

  /** Forwards nothing in either direction; connections are accepted and silent. */
  pause(): void {
    this.#paused = true
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  resume(): void {
    this.#paused = false
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  /** Resets every connection; new ones are accepted. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
  }

  /** Stops listening and resets every connection. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  /** Listens again on the same port after `refuse`. */
  async accept(): Promise<void> {
    if (this.#server.listening) return
    this.#server = await listening(this.port)
    this.#serve(this.#server)
  }

  /** Calls back once, before forwarding, when a client sends this text. */
  whenSent(text: string, found: () => void): void {
    this.#tap = { text, found }
  }

  /** Holds each request in which a client sends this text until it is released; the server receives nothing of it. */
  hold(text: string): Hold {
    this.#holding = new Hold(text, (client, bytes, hold) => {
      this.#join(client, bytes, hold)
    })
    this.#holds.push(this.#holding)
    return this.#holding
  }

  /** Forwards new requests; held ones stay held. */
  holdNoMore(): void {
    this.#holding = undefined
  }

  /** Forwards everything again. */
  async repair(): Promise<void> {
    this.#tap = undefined
    this.holdNoMore()
    for (const hold of this.#holds.splice(0)) hold.release()
    await this.accept()
    this.resume()
  }

  async close(): Promise<void> {
    for (const hold of this.#holds) hold.drop()
    if (this.#server.listening) await this.refuse()
  }

  #serve(server: Server): void {
    server.on('connection', (client) => {
      this.#join(client)
    })
  }

  /** @param sent the bytes that the client of a held request has sent already. */
  #join(client: Socket, sent?: Buffer, hold?: Hold): void {
    const upstream = connect(this.target)
    const pair = [client, upstream] as const
    this.#pairs.add(pair)
    this.#pass(client, upstream, pair, true)
    this.#pass(upstream, client, pair, false)
    if (hold !== undefined) upstream.once('data', () => (hold.answered = true))
    if (sent !== undefined) upstream.write(sent)
    if (client.destroyed) upstream.end()
    else client.resume()
    if (this.#paused) for (const socket of pair) socket.pause()
  }

  #pass(from: Socket, to: Socket, pair: readonly [Socket, Socket], fromClient: boolean): void {
    from.setNoDelay(true)
    from.on('data', (bytes) => {
      if (fromClient) this.#look(bytes)
      if (fromClient && this.#keptBack(bytes, pair)) return
      if (!to.write(bytes)) from.pause()
    })
    to.on('drain', () => {
      if (!this.#paused) from.resume()
    })
    from.on('end', () => to.end())
    from.on('error', () => undefined)
    from.on('close', () => {
      to.destroy()
      this.#pairs.delete(pair)
    })
  }

  /** Detaches a connection from its server, which would otherwise close a connection that waits for a request. */
  #keptBack(bytes: Buffer, pair: readonly [Socket, Socket]): boolean {
    const hold = this.#holding
    if (hold === undefined || !bytes.includes(hold.text)) return false
    const [client, upstream] = pair
    this.#pairs.delete(pair)
    for (const socket of pair) socket.removeAllListeners().on('error', () => undefined)
    client.pause()
    upstream.destroy()
    hold.keep(client, bytes)
    return true
  }

  #look(bytes: Buffer): void {
    const tap = this.#tap
    if (tap === undefined || !bytes.includes(tap.text)) return
    this.#tap = undefined
    tap.found()
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}
