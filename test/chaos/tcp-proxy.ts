import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

interface Tap {
  readonly text: string
  readonly found: () => void
}

/** Stands between two processes, so that what happens to a network can happen between them. */
export class TcpProxy {
  #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #paused = false
  #tap: Tap | undefined

  private constructor(
    readonly port: number,
    private readonly target: { readonly host: string; readonly port: number },
    server: Server,
  ) {
    this.#server = server
  }

  /** Listens on a free port and passes on to the host and port of a URL. */
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

  /** Nothing passes any more, neither way; connections are accepted and silent. */
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

  /** Nobody listens any more, and every connection is reset. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  /** Listens again after `refuse`, on the same port. */
  async accept(): Promise<void> {
    if (this.#server.listening) return
    this.#server = await listening(this.port)
    this.#serve(this.#server)
  }

  /** Calls once, before it is passed on, when a client sends this text. */
  whenSent(text: string, found: () => void): void {
    this.#tap = { text, found }
  }

  /** Back to passing everything. */
  async mend(): Promise<void> {
    this.#tap = undefined
    await this.accept()
    this.resume()
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.refuse()
  }

  #serve(server: Server): void {
    server.on('connection', (client) => {
      const upstream = connect(this.target)
      const pair = [client, upstream] as const
      this.#pairs.add(pair)
      this.#pass(client, upstream, pair, true)
      this.#pass(upstream, client, pair, false)
      if (this.#paused) for (const socket of pair) socket.pause()
    })
  }

  #pass(from: Socket, to: Socket, pair: readonly [Socket, Socket], fromClient: boolean): void {
    from.setNoDelay(true)
    from.on('data', (bytes) => {
      if (fromClient) this.#look(bytes)
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
