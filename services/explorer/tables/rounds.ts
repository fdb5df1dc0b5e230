import type { QueryRunner } from './availability.js'

/**
 * Collects the lookups of an operation into rounds: those that wait begin together, when no query of the operation is in progress.
 * Reads that take the same steps beside each other therefore share the query of each step.
 */
export class Rounds {
  #waiting: (() => void)[] = []
  #running = 0
  #isScheduled = false

  /** Calls back when the next round begins. */
  readonly begin = (callback: () => void): void => {
    this.#waiting.push(callback)
    this.#schedule()
  }

  /** Returns a database whose queries the rounds wait for. */
  of(db: QueryRunner): QueryRunner {
    return {
      get connected() {
        return db.connected
      },
      get isCrowded() {
        return db.isCrowded
      },
      query: <T>(...query: Parameters<QueryRunner['query']>) => this.#during(() => db.query<T>(...query)),
      bytes: (...query) => this.#during(() => db.bytes(...query)),
    }
  }

  async #during<T>(query: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await query()
    } finally {
      this.#running--
      this.#schedule()
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running > 0 || this.#waiting.length === 0) return
    this.#isScheduled = true
    // After everything that the last rows have caused.
    setImmediate(() => {
      this.#isScheduled = false
      if (this.#running > 0) return
      const waiting = this.#waiting
      this.#waiting = []
      for (const begin of waiting) begin()
    })
  }
}
