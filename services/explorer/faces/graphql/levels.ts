/**
 * Runs the lookups of an operation level by level: those of a level begin together, when all of the levels above have ended. So
 * lookups that belong to the same level share queries, whatever else the operation contains.
 */
export class Levels {
  readonly #waiting = new Map<number, (() => void)[]>()
  #running = 0
  #isScheduled = false

  /** Does work when its level begins. */
  async run<T>(level: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((begin) => {
      const waiting = this.#waiting.get(level)
      if (waiting === undefined) this.#waiting.set(level, [begin])
      else waiting.push(begin)
      this.#schedule()
    })
    try {
      return await work()
    } finally {
      this.#running--
      this.#schedule()
    }
  }

  /** Begins the next level when everything that the last one has caused in memory is done. */
  #schedule(): void {
    if (this.#isScheduled || this.#running > 0 || this.#waiting.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const level = Math.min(...this.#waiting.keys())
      const begin = this.#waiting.get(level) ?? []
      this.#waiting.delete(level)
      this.#running += begin.length
      for (const each of begin) each()
    })
  }
}
