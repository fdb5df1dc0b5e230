import type { Socket } from 'node:net'
import { addressBytes } from '../../../access/client-address.js'
import { errorText } from './messages.js'
import { CODE, Refusal } from './refusal.js'
import { Session, type Shared } from './session.js'

/** The maximum size of a line. */
const MAX_LINE_BYTES = 1_000_000
/** The number of lines that are answered at once. */
const MAX_IN_FLIGHT = 32
/** The bytes that a client has not read at which no further lines of it are answered. */
const MAX_UNREAD_BYTES = 1_000_000
/** The bytes that a client has not read at which it is disconnected: answers in progress, and messages of subscriptions. */
const MAX_BACKLOG_BYTES = 32_000_000
/** The time after which a client that reads nothing is disconnected, and one that sends and receives nothing. */
const UNREAD_MS = 30_000
const IDLE_MS = 600_000
const NEWLINE = 0x0a

/** A client over TCP: one message a line. */
export class Connection {
  readonly #socket: Socket
  readonly #session: Session
  readonly #onDefect: (error: unknown) => void
  #parts: Buffer[] = []
  #partBytes = 0
  #lines: Buffer[] = []
  #next = 0
  #inFlight = 0
  #isCorked = false
  #unread = 0
  #watching: NodeJS.Timeout | undefined

  constructor(socket: Socket, shared: Shared) {
    this.#socket = socket
    this.#onDefect = (error) => {
      shared.core.defect(error, 'electrum connection')
    }
    this.#session = new Session(shared, {
      origin: { peer: addressBytes(socket.remoteAddress ?? ''), forwardedFor: '' },
      send: (message) => {
        this.#send(message)
      },
      end: () => {
        // After the answer that is being made.
        setImmediate(() => {
          this.end()
        })
      },
    })
    socket.setTimeout(IDLE_MS)
    socket.on('data', (chunk) => {
      this.#read(chunk)
    })
    socket.on('drain', () => {
      this.#pump()
    })
    socket.on('timeout', () => {
      socket.destroy()
    })
    // The client has gone; 'close' follows.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearInterval(this.#watching)
      this.#lines = []
      this.#session.close()
    })
  }

  /** Disconnects the client after the messages that were sent. */
  end(): void {
    this.#lines = []
    this.#next = 0
    this.#socket.end()
  }

  /** Disconnects the client now. */
  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const line = chunk.subarray(from, at)
      from = at + 1
      if (this.#parts.length === 0) this.#lines.push(line)
      else {
        this.#lines.push(Buffer.concat([...this.#parts, line]))
        this.#parts = []
        this.#partBytes = 0
      }
    }
    if (from < chunk.length) {
      const rest = chunk.subarray(from)
      this.#parts.push(rest)
      this.#partBytes += rest.length
    }
    const tooLong =
      this.#partBytes > MAX_LINE_BYTES || this.#lines.some(({ length }) => length > MAX_LINE_BYTES)
    if (tooLong) {
      this.#parts = []
      const most = `a message has at most ${String(MAX_LINE_BYTES)} bytes`
      this.#send(errorText('2.0', null, new Refusal(CODE.invalidRequest, most)))
      this.end()
      return
    }
    this.#pump()
  }

  /** Begins to answer the next lines, as many as may be in progress. */
  #pump(): void {
    const { writableLength } = this.#socket
    for (;;) {
      const line = this.#lines[this.#next]
      if (line === undefined) {
        this.#lines = []
        this.#next = 0
        this.#socket.resume()
        return
      }
      // The version decides how the other lines are answered.
      const most = this.#session.isIdentified ? MAX_IN_FLIGHT : 1
      if (this.#inFlight >= most || writableLength > MAX_UNREAD_BYTES) {
        this.#socket.pause()
        return
      }
      this.#next++
      this.#inFlight++
      this.#session
        .receive(line)
        .catch(this.#onDefect)
        .finally(() => {
          this.#inFlight--
          if (!this.#socket.destroyed) this.#pump()
        })
    }
  }

  #send(message: string): void {
    const socket = this.#socket
    if (socket.destroyed || socket.writableEnded) return
    // Messages of one turn in one packet.
    if (!this.#isCorked) {
      this.#isCorked = true
      socket.cork()
      process.nextTick(() => {
        this.#isCorked = false
        socket.uncork()
      })
    }
    socket.write(`${message}\n`)
    if (socket.writableLength > MAX_BACKLOG_BYTES) socket.destroy()
    else if (socket.writableLength > 0) this.#watchReader()
  }

  /** Disconnects a client that reads nothing for a while. */
  #watchReader(): void {
    if (this.#watching !== undefined) return
    const { bytesWritten, writableLength } = this.#socket
    this.#unread = bytesWritten - writableLength
    this.#watching = setInterval(() => {
      const socket = this.#socket
      const read = socket.bytesWritten - socket.writableLength
      if (socket.writableLength === 0) {
        clearInterval(this.#watching)
        this.#watching = undefined
      } else if (read === this.#unread) socket.destroy()
      this.#unread = read
    }, UNREAD_MS)
    this.#watching.unref()
  }
}
