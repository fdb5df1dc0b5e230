import { connect, type Socket } from 'node:net'

export interface Received {
  readonly status: number
  readonly hasRetryAfter: boolean
}

/** Undefined if the connection closed before the answer was complete. */
export type Done = (received: Received | undefined) => void

export interface ConnectionEvents {
  readonly opened: () => void
  /** Called before an answer is passed on: the connection may be used again. */
  readonly idle: () => void
  /** Called once, when it can no longer be used. */
  readonly closed: () => void
}

/** Shared by all connections: each chunk is parsed before the next one is read. */
const buffer = Buffer.alloc(256 * 1024)

/** An HTTP connection, kept alive, with one request at a time: a minimal client, because the server is measured. */
export class Connection {
  readonly #socket: Socket
  readonly #events: ConnectionEvents
  #head = ''
  #received: Received | undefined
  /** Bytes of the body that have not arrived. */
  #missing = 0
  #done: Done | undefined

  readonly #accept: string

  /** @param accept the header of that name. Not set: none. */
  constructor(port: number, events: ConnectionEvents, accept?: string) {
    this.#accept = accept === undefined ? '' : `Accept: ${accept}\r\n`
    const callback = (bytes: number): boolean => {
      this.#read(bytes)
      return true
    }
    this.#events = events
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
    this.#socket.on('connect', () => {
      events.opened()
    })
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => {
      events.closed()
      this.#finish(undefined)
    })
  }

  get(path: string, done: Done): void {
    this.#done = done
    this.#socket.write(this.#requestOf(path))
  }

  /** Sends a request, and disconnects before there can be an answer. */
  getAndLeave(path: string): void {
    this.#socket.write(this.#requestOf(path), () => this.#socket.destroy())
  }

  close(): void {
    this.#socket.destroy()
  }

  #requestOf(path: string): string {
    return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${this.#accept}\r\n`
  }

  #read(bytes: number): void {
    if (this.#received !== undefined) {
      this.#missing -= bytes
    } else {
      this.#head += buffer.toString('latin1', 0, bytes)
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#head.slice(0, end)
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1])
      this.#missing = length - (this.#head.length - end - 4)
      this.#received = { status: Number(head.slice(9, 12)), hasRetryAfter: /\r\nretry-after: \d/i.test(head) }
    }
    if (this.#missing === 0) {
      this.#events.idle()
      this.#finish(this.#received)
    } else if (!(this.#missing > 0)) {
      // More than the declared length, or no length: not an answer of an explorer.
      this.#socket.destroy()
    }
  }

  #finish(received: Received | undefined): void {
    const done = this.#done
    this.#head = ''
    this.#received = undefined
    this.#done = undefined
    done?.(received)
  }
}
