import { createServer, connect, type Server, type Socket } from 'node:net'
import { useEngine } from './engine.js'

/** A connection to the engine that can be cut. */
export class Bridge {
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  port = 0

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`
  }

  async open(): Promise<void> {
    const { hostname, port } = new URL(useEngine())
    const server = createServer((client) => {
      const engine = connect(Number(port), hostname)
      for (const [one, other] of [
        [client, engine],
        [engine, client],
      ] as const) {
        this.#sockets.add(one)
        one.pipe(other)
        one.on('error', () => one.destroy())
        one.on('close', () => {
          this.#sockets.delete(one)
          other.destroy()
        })
      }
    })
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve))
    const address = server.address()
    if (typeof address === 'object' && address !== null) this.port = address.port
    this.#server = server
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}
