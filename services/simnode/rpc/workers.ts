/** Runs so many tasks at a time and lets so many wait, as the node's RPC threads (4) and work queue (16) do. */
export class Workers {
  readonly #waiting: (() => void)[] = []
  #busy = 0

  constructor(
    private readonly threads = 4,
    private readonly depth = 16,
  ) {}

  /** @returns what the task returns; undefined where as many wait as may. */
  async run<T>(task: () => Promise<T> | T): Promise<T | undefined> {
    if (this.#busy < this.threads) this.#busy++
    else if (this.#waiting.length >= this.depth) return undefined
    // The one who leaves hands its thread over, so the count stays.
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
