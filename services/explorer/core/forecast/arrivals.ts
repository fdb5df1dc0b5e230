import { orHigher, RATE_STEPS } from '../../../../pipelines/mempool/rate-steps.js'

/** The transactions that entered the mempool in a period, less those that left it without a block. */
export interface Arrived {
  /** The observed time. */
  readonly seconds: number
  /** Virtual bytes of each step and of all higher ones. */
  readonly vsizes: readonly number[]
}

export interface Arrivals {
  readonly lately: Arrived
  readonly usually: Arrived
}

/** The periods that count, in seconds. */
const PERIODS = { lately: 1_800, usually: 86_400 } as const
const MINUTE_MS = 60_000
/** The time after the end of a minute in which its row is written. */
const WRITTEN_MS = 5_000

/** Runs the query of the arrivals. */
export interface ArrivalTables {
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>): Promise<T[]>
}

interface Sums {
  readonly entered: readonly string[]
  readonly dropped: readonly string[]
  readonly minutes: string
}

/** The arrivals of the last day, read once a minute. */
export class RecentArrivals {
  readonly #tables: ArrivalTables
  #newest: { readonly untilMs: number; readonly arrivals: Promise<Arrivals> } | undefined

  constructor(tables: ArrivalTables) {
    this.#tables = tables
  }

  /** Returns the arrivals, and until when they are the newest, in Unix milliseconds. @throws DatabaseUnavailable, QueryRefused. */
  async newest(): Promise<{ readonly arrivals: Arrivals; readonly untilMs: number }> {
    const now = Date.now()
    if (this.#newest === undefined || now >= this.#newest.untilMs) {
      const begin = now - (now % MINUTE_MS)
      const untilMs = now < begin + WRITTEN_MS ? begin + WRITTEN_MS : begin + MINUTE_MS + WRITTEN_MS
      this.#newest = { untilMs, arrivals: this.#read(Math.floor(now / 1000)) }
    }
    const used = this.#newest
    try {
      return { arrivals: await used.arrivals, untilMs: used.untilMs }
    } catch (error) {
      if (this.#newest === used) this.#newest = undefined
      throw error
    }
  }

  async #read(now: number): Promise<Arrivals> {
    const [lately, usually] = await Promise.all([
      this.#since(now - PERIODS.lately),
      this.#since(now - PERIODS.usually),
    ])
    return { lately, usually }
  }

  async #since(from: number): Promise<Arrived> {
    // A minute that was written twice has equal rows.
    const [sums] = await this.#tables.query<Sums>(
      `SELECT sumForEach(entered) AS entered, sumForEach(dropped) AS dropped, count() AS minutes
       FROM (SELECT entered, dropped FROM mempool_arrivals WHERE start >= {from:UInt32} LIMIT 1 BY start)`,
      { from },
    )
    const at = (vsizes: readonly string[] | undefined, step: number): number => Number(vsizes?.[step] ?? 0)
    const net = Array.from(
      { length: RATE_STEPS },
      (_, step) => at(sums?.entered, step) - at(sums?.dropped, step),
    )
    // More may have been dropped than entered: the rest waits already.
    const vsizes = orHigher(net).map((vsize) => Math.max(0, vsize))
    return { seconds: Number(sums?.minutes ?? 0) * (MINUTE_MS / 1000), vsizes }
  }
}
