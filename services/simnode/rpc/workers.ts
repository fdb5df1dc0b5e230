/** Limits the number of running and waiting tasks, like the RPC threads (4) and the work queue (16) of Bitcoin Core. */
export class Workers {
  readonly #waiting: (() => void)[] = []
  #busy = 0

  constructor(
    private readonly threads = 4,
    private readonly depth = 16,
  ) {}

  /** Runs a task as soon as a thread is free. @returns its result, undefined if the queue is full. */
  async run<T>(task: () => Promise<T> | T): Promise<T | undefined> {
    if (this.#busy < this.threads) this.#busy++
    else if (this.#waiting.length >= this.depth) return undefined
    // A finished task passes its thread to the next one, so the count does not change.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy--
      else next()
    }
  }
}
