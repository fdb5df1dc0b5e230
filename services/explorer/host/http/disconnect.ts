/** The disconnect of a client before its answer, and the callbacks for it. */
export class Disconnect {
  #hasHappened = false
  /** True if the body has been read to its end, so that the connection need not be closed because of it. */
  isBodyRead = false
  #callbacks: (() => void)[] = []

  get hasHappened(): boolean {
    return this.#hasHappened
  }

  add(callback: () => void): void {
    if (this.#hasHappened) callback()
    else this.#callbacks.push(callback)
  }

  /** Drops the callbacks, and what they hold in memory, when the answer is made. */
  forget(): void {
    this.#callbacks = []
  }

  happened(): void {
    this.#hasHappened = true
    for (const callback of this.#callbacks) callback()
  }
}
