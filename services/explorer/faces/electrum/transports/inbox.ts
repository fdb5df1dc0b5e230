import type { Session } from '../session.js'

/** The number of messages that are answered at once. */
const MAX_IN_FLIGHT = 100

/** The messages of a client in their order, some of which are being answered. */
export class Inbox {
  readonly #session: Session
  readonly #mayBegin: () => boolean
  readonly #onDefect: (error: unknown) => void
  #messages: (Uint8Array | string)[] = []
  #next = 0
  #inFlight = 0
  /** The bytes, or characters, that wait to be answered. */
  waiting = 0

  /**
   * @param mayBegin returns whether the answer to a further message may be begun.
   * @param onDefect called for an error that is no answer.
   */
  constructor(session: Session, mayBegin: () => boolean, onDefect: (error: unknown) => void) {
    this.#session = session
    this.#mayBegin = mayBegin
    this.#onDefect = onDefect
  }

  /** True if no answer is in progress, and no message waits. */
  get isIdle(): boolean {
    return this.#inFlight === 0 && this.#next === this.#messages.length
  }

  add(message: Uint8Array | string): void {
    this.#messages.push(message)
    this.waiting += message.length
  }

  /** Forgets the messages that wait. */
  clear(): void {
    this.#messages = []
    this.#next = 0
    this.waiting = 0
  }

  /**
   * Begins to answer the next messages, as many as may be in progress.
   * @param onEnd called after each answer. @returns whether none waits.
   */
  pump(onEnd: () => void): boolean {
    for (;;) {
      const message = this.#messages[this.#next]
      if (message === undefined) {
        this.clear()
        return true
      }
      // The version decides how the other messages are answered.
      const most = this.#session.isIdentified ? MAX_IN_FLIGHT : 1
      if (this.#inFlight >= most || !this.#mayBegin()) return false
      this.#next++
      this.#inFlight++
      this.waiting -= message.length
      this.#session
        .receive(message)
        .catch(this.#onDefect)
        .finally(() => {
          this.#inFlight--
          onEnd()
        })
    }
  }
}
