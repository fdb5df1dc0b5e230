import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** A message of the server. */
export interface ElectrumMessage {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string } | null
  readonly method?: string
  readonly params?: readonly unknown[]
}

/** A client of the Electrum protocol over TCP. */
export class ElectrumClient {
  /** The messages that are no answers to calls of `call`, in their order. */
  readonly others: (ElectrumMessage | readonly ElectrumMessage[])[] = []
  readonly #waiting = new Map<unknown, (message: ElectrumMessage | readonly ElectrumMessage[]) => void>()
  #nextId = 1_000
  isClosed = false

  private constructor(readonly socket: Socket) {
    const lines = createInterface({ input: socket })
    // The reader of lines reports the errors of the socket too.
    lines.on('error', () => undefined)
    lines.on('line', (line) => {
      const message = JSON.parse(line) as ElectrumMessage | ElectrumMessage[]
      const id = Array.isArray(message) ? batchId(message.map((each) => each.id)) : message.id
      const answered = this.#waiting.get(id)
      if (answered === undefined) {
        this.others.push(message)
        return
      }
      this.#waiting.delete(id)
      answered(message)
    })
    socket.once('close', () => {
      this.isClosed = true
    })
    socket.on('error', () => undefined)
  }

  /** @param address host and port. */
  static async connect(address: string): Promise<ElectrumClient> {
    const at = address.lastIndexOf(':')
    const socket = connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)) })
    await once(socket, 'connect')
    return new ElectrumClient(socket)
  }

  /** Talks over a connection that is open, such as one of TLS. */
  static over(socket: Socket): ElectrumClient {
    return new ElectrumClient(socket)
  }

  send(text: string | Buffer): void {
    this.socket.write(text)
  }

  /** Calls a method, and returns the answer with its error or result. */
  async call(method: string, params: unknown = []): Promise<ElectrumMessage> {
    const id = this.#nextId++
    const answer = this.#answerTo(id)
    this.send(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return (await answer) as ElectrumMessage
  }

  /** Calls a method. @throws Error for an error. */
  async result(method: string, ...params: unknown[]): Promise<unknown> {
    const { error, result } = await this.call(method, params)
    if (error !== undefined && error !== null) throw new Error(error.message)
    return result
  }

  /** Calls methods in one batch, and returns their results in this order. @throws Error for an error. */
  async results(
    calls: readonly (readonly [method: string, ...params: readonly unknown[]])[],
  ): Promise<unknown[]> {
    const requests = calls.map(([method, ...params]) => ({
      jsonrpc: '2.0',
      id: this.#nextId++,
      method,
      params,
    }))
    const ids = requests.map(({ id }) => id)
    const answer = this.#answerTo(batchId(ids))
    this.send(`${JSON.stringify(requests)}\n`)
    // In any order.
    const byId = new Map(((await answer) as ElectrumMessage[]).map((each) => [each.id, each]))
    return ids.map((id) => {
      const { error, result } = byId.get(id) ?? { error: { message: 'no answer' } }
      if (error !== undefined && error !== null) throw new Error(error.message)
      return result
    })
  }

  #answerTo(id: unknown): Promise<ElectrumMessage | readonly ElectrumMessage[]> {
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  close(): void {
    this.socket.destroy()
  }
}

/** Returns the key of a batch by the ids of its requests, or of its answers. */
const batchId = (ids: readonly unknown[]): string => `batch ${String(Math.min(...ids.map(Number)))}`
