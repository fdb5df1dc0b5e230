import type { QueryRunner } from './availability.js'

/**
 * Collects the lookups of an operation into rounds: waiting lookups begin together, when no query of the operation is in progress.
 * Parallel reads with equal steps therefore share the query of each step, also if some reads skip a step: a table
 * is not looked up while lookups wait that lead to it.
 */
export class Rounds<Table extends string> {
  readonly #waiting = new Map<Table, (() => void)[]>()
  #running = 0
  #isScheduled = false

  /** @param leads the tables whose rows lead to keys of a table, without cycles. */
  constructor(private readonly leads: Readonly<Partial<Record<Table, readonly Table[]>>>) {}

  /** Calls back when a round begins that looks up the table. */
  begin(table: Table, callback: () => void): void {
    const waiting = this.#waiting.get(table)
    if (waiting === undefined) this.#waiting.set(table, [callback])
    else waiting.push(callback)
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
    if (this.#isScheduled || this.#running > 0 || this.#waiting.size === 0) return
    this.#isScheduled = true
    // After everything that the last rows have caused.
    setImmediate(() => {
      this.#isScheduled = false
      if (this.#running > 0) return
      const ready = [...this.#waiting].filter(
        ([table]) => !(this.leads[table] ?? []).some((lead) => this.#waiting.has(lead)),
      )
      for (const [table, callbacks] of ready) {
        this.#waiting.delete(table)
        for (const begin of callbacks) begin()
      }
      // If none of them has begun a query, because all were cancelled.
      this.#schedule()
    })
  }
}
