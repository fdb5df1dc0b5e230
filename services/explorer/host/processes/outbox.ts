/** Collects the messages of one turn of the event loop and sends them together, because each message costs system calls in both processes. */
export class Outbox<M> {
  readonly #send: (messages: readonly M[]) => void
  #messages: M[] = []

  constructor(send: (messages: readonly M[]) => void) {
    this.#send = send
  }

  add(message: M): void {
    if (this.#messages.push(message) > 1) return
    setImmediate(() => {
      const messages = this.#messages
      this.#messages = []
      this.#send(messages)
    })
  }
}
