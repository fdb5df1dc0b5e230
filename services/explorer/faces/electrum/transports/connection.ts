import type { Socket } from 'node:net'
import type { Origin } from '../../../../access/client-address.js'
import type { Backlogged } from '../../../http/backlog.js'
import { Inbox } from './inbox.js'
import { errorText } from '../messages.js'
import { CODE, Refusal } from '../refusal.js'
import { MAX_MESSAGE_BYTES, Session, type Shared } from '../session.js'

/** The bytes that a client has not read at which no further message of it is answered. */
const MAX_UNREAD_BYTES = 1_000_000
/** The bytes that a client has not read at which an answer waits until it reads. */
const MAX_WRITTEN_BYTES = 16_000_000
/** The bytes that a client has not read at which messages of its subscriptions disconnect it. */
const MAX_BACKLOG_BYTES = 32_000_000
/** The time after which a client that reads nothing is disconnected, and one that sends and receives nothing. */
const UNREAD_MS = 30_000
const IDLE_MS = 600_000
const NEWLINE = 0x0a

/** A client over TCP: one message a line. */
export class Connection implements Backlogged {
  readonly #socket: Socket
  readonly #session: Session
  readonly #inbox: Inbox
  #parts: Buffer[] = []
  #partBytes = 0
  #isCorked = false
  /** True if the client sends nothing more, and may wait for answers. */
  #hasEnded = false
  /** The bytes of answers that wait until the client reads. */
  #held = 0
  #unread = 0
  #watching: NodeJS.Timeout | undefined

  constructor(socket: Socket, origin: Origin, shared: Shared) {
    this.#socket = socket
    this.#session = new Session(shared, {
      origin,
      answer: (message) => this.#answer(message),
      send: (message) => {
        this.#write(message)
      },
      end: () => {
        // After the answer that is being made.
        setImmediate(() => {
          this.end()
        })
      },
    })
    const mayBegin = (): boolean => socket.writableLength <= MAX_UNREAD_BYTES
    this.#inbox = new Inbox(this.#session, mayBegin, (error) => {
      shared.core.defect(error, 'electrum connection')
    })
    // Each answer that waits listens for room.
    socket.setMaxListeners(0)
    socket.setTimeout(IDLE_MS)
    socket.on('data', (chunk) => {
      this.#read(chunk)
    })
    socket.once('end', () => {
      this.#hasEnded = true
      this.#pump()
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
      this.#inbox.clear()
      this.#session.close()
    })
  }

  /** Disconnects the client after the messages that were sent. */
  end(): void {
    this.#inbox.clear()
    this.#socket.end()
  }

  /** Disconnects the client now. */
  close(): void {
    this.#socket.destroy()
  }

  getBufferedAmount(): number {
    return this.#socket.writableLength + this.#held
  }

  #read(chunk: Buffer): void {
    let from = 0
    let isTooLong = false
    const add = (line: Buffer): void => {
      isTooLong ||= line.length > MAX_MESSAGE_BYTES
      this.#inbox.add(line)
    }
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const line = chunk.subarray(from, at)
      from = at + 1
      if (this.#parts.length === 0) add(line)
      else {
        add(Buffer.concat([...this.#parts, line]))
        this.#parts = []
        this.#partBytes = 0
      }
    }
    if (from < chunk.length) {
      const rest = chunk.subarray(from)
      this.#parts.push(rest)
      this.#partBytes += rest.length
    }
    if (isTooLong || this.#partBytes > MAX_MESSAGE_BYTES) {
      this.#parts = []
      const most = `a message has at most ${String(MAX_MESSAGE_BYTES)} bytes`
      this.#write(errorText('2.0', null, new Refusal(CODE.invalidRequest, most)))
      this.end()
      return
    }
    this.#pump()
  }

  /** Answers the next messages, and reads no further ones while some wait. */
  #pump(): void {
    const socket = this.#socket
    if (socket.destroyed) return
    const isEmpty = this.#inbox.pump(() => {
      this.#pump()
    })
    if (this.#hasEnded && this.#inbox.isIdle) socket.end()
    else if (isEmpty) socket.resume()
    else socket.pause()
  }

  /** Sends an answer, when the client has read most of the former ones. */
  async #answer(message: string): Promise<void> {
    const socket = this.#socket
    while (socket.writableLength > MAX_WRITTEN_BYTES && !socket.destroyed) {
      this.#held += message.length
      await new Promise<void>((resolve) => {
        const end = (): void => {
          socket.off('drain', end).off('close', end)
          resolve()
        }
        socket.once('drain', end).once('close', end)
      })
      this.#held -= message.length
    }
    this.#write(message)
  }

  #write(message: string): void {
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
