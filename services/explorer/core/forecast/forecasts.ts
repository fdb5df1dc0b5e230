import { orHigher } from '../../../../pipelines/mempool/rate-steps.js'
import { type Arrivals, type ArrivalTables, type Arrived, RecentArrivals } from './arrivals.js'
import { Futures } from './futures.js'

/** The mempool and the newest blocks, from which fees are forecast. */
export interface Situation {
  /** Virtual bytes that wait, by the steps of fee rates. */
  readonly sizes: readonly number[]
  /** Virtual bytes that a block takes. */
  readonly capacity: number
  /** Mean time between the newest blocks, in seconds. */
  readonly spacing: number
  /** Virtual bytes that the newest blocks confirmed per second. */
  readonly mined: number
}

/**
 * The observed time up to which what the newest blocks confirmed is taken for what arrives, in seconds: it counts as if it had been
 * observed for as long.
 */
const ASSUMED_SECONDS = 600

export interface Forecasted {
  readonly futures: Futures
  /** Minutes of the last day in which it is known what entered the mempool. */
  readonly observedMinutes: number
  /** The time until which these are the newest arrivals, in Unix milliseconds. */
  readonly untilMs: number
}

/** The futures of the newest situations. */
export class Forecasts {
  readonly #arrivals: RecentArrivals
  #last: { readonly situation: Situation; readonly arrivals: Arrivals; readonly futures: Futures } | undefined

  constructor(tables: ArrivalTables) {
    this.#arrivals = new RecentArrivals(tables)
  }

  /** Returns the futures of a situation. @throws DatabaseUnavailable, QueryRefused. */
  async of(situation: Situation): Promise<Forecasted> {
    const { arrivals, untilMs } = await this.#arrivals.newest()
    const last = this.#last
    const isKnown = last?.arrivals === arrivals && isSame(last.situation, situation)
    const futures = isKnown ? last.futures : futuresOf(situation, arrivals)
    if (!isKnown) this.#last = { situation, arrivals, futures }
    return { futures, observedMinutes: arrivals.usually.seconds / 60, untilMs }
  }
}

const isSame = (one: Situation, other: Situation): boolean =>
  one.sizes === other.sizes &&
  one.capacity === other.capacity &&
  one.spacing === other.spacing &&
  one.mined === other.mined

/** Returns the futures of a situation and of what arrives. */
export function futuresOf(
  { sizes, capacity, spacing, mined }: Situation,
  { lately, usually }: Arrivals,
): Futures {
  const waiting = orHigher(sizes)
  const all = waiting[0] ?? 0
  // What was confirmed is assumed to have paid what the transactions pay that wait; the least if none waits.
  const assumed = waiting.map((vsize, step) => mined * (all > 0 ? vsize / all : step === 0 ? 1 : 0))
  const perSecond = ({ seconds, vsizes }: Arrived): number[] =>
    assumed.map((rate, step) => {
      return ((vsizes[step] ?? 0) + rate * ASSUMED_SECONDS) / (seconds + ASSUMED_SECONDS)
    })
  return new Futures({
    waiting,
    arriving: { lately: perSecond(lately), usually: perSecond(usually) },
    capacity,
    spacing,
  })
}
