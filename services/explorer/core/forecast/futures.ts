import { RATE_STEPS, rateOfStep, stepOf } from '../../../../pipelines/mempool/rate-steps.js'

/** The supply of and the demand for space in the next blocks. Sums by fee rate are of a step and of all higher ones. */
export interface FeeMarket {
  /** Virtual bytes that wait. */
  readonly waiting: readonly number[]
  /** Virtual bytes that enter per second: lately, and in the mean of a day. */
  readonly arriving: { readonly lately: readonly number[]; readonly usually: readonly number[] }
  /** Virtual bytes that a block takes. */
  readonly capacity: number
  /** Mean time between blocks, in seconds. */
  readonly spacing: number
}

/** The time after which a transaction is confirmed in a future. */
export interface Confirmation {
  /** Infinite if more blocks are needed than a future has. */
  readonly blocks: number
  readonly seconds: number
}

/** The number of blocks of a future. */
export const FUTURE_BLOCKS = 144
/** The number of futures: a chance is known to about 1.4 percent at 95. */
const FUTURES = 256
/** The time in which arrivals return from the latest to the usual ones, in seconds: the time constant of an exponential. */
const RETURN_SECONDS = 3 * 3_600
/**
 * The uncertainty of arrivals: the standard deviations of the logarithms of their factors. `bench -- fees` shows with them that
 * transactions confirm as often as promised.
 */
const UNCERTAINTY = { lately: 0.6, usually: 0.3 }
/** The share of the blocks' capacity that miners use in the mean: some blocks are empty, and none is quite full. */
const USED = 0.98
/** Fixed: every process shows the same figures for the same state. */
const SEED = 0x6865_6164

/** The random part of a future. */
interface Draw {
  /** The times of the blocks, with a mean interval of 1. */
  readonly times: Float64Array
  /** The factors of arrivals. */
  readonly lately: number
  readonly usually: number
}

const DRAWS = drawn(SEED)

/** Draws futures: blocks arrive at random, as mining does, and more or fewer transactions arrive than now. */
function drawn(seed: number): Draw[] {
  let state = seed
  // A linear congruential generator: its upper bits are good enough here, and it is the same everywhere.
  const fraction = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state + 0.5) / 2 ** 32
  }
  return Array.from({ length: FUTURES }, () => {
    const normal = Math.sqrt(-2 * Math.log(fraction())) * Math.cos(2 * Math.PI * fraction())
    let time = 0
    return {
      times: Float64Array.from({ length: FUTURE_BLOCKS }, () => (time -= Math.log(fraction()))),
      lately: Math.exp(UNCERTAINTY.lately * normal),
      usually: Math.exp(UNCERTAINTY.usually * normal),
    }
  })
}

/**
 * Possible futures of a fee market. In each, blocks arrive at random times and take what pays most, while transactions arrive. The share
 * of the futures in which something happens is its chance.
 */
export class Futures {
  readonly market: FeeMarket
  /** The seconds of arrivals as lately that precede each block of each future; the rest of its time has usual arrivals. */
  readonly #latelySeconds: Float64Array[]
  readonly #confirmations = new Map<number, readonly Confirmation[]>()

  constructor(market: FeeMarket) {
    this.market = market
    this.#latelySeconds = DRAWS.map(({ times }) =>
      times.map((time) => RETURN_SECONDS * (1 - Math.exp((-time * market.spacing) / RETURN_SECONDS))),
    )
  }

  /** Returns when a transaction that is sent now would be confirmed in each future. @param rate base units per virtual byte. */
  confirmations(rate: number): readonly Confirmation[] {
    return this.#ofStep(stepOf(rate))
  }

  /**
   * Returns the lowest fee rate of a transaction that is sent now and confirmed with a chance, in base units per virtual byte;
   * undefined if none suffices.
   * @param isInTime whether a transaction is confirmed in time.
   * @param chance 0 to 1.
   */
  rateFor(isInTime: (confirmation: Confirmation) => boolean, chance: number): number | undefined {
    const suffices = (step: number): boolean => chanceOf(this.#ofStep(step), isInTime) >= chance
    let [low, high] = [0, RATE_STEPS - 1]
    if (!suffices(high)) return undefined
    while (low < high) {
      const middle = (low + high) >> 1
      if (suffices(middle)) high = middle
      else low = middle + 1
    }
    return rateOfStep(low)
  }

  #ofStep(step: number): readonly Confirmation[] {
    const cached = this.#confirmations.get(step)
    if (cached !== undefined) return cached
    const made = this.#simulate(step)
    this.#confirmations.set(step, made)
    return made
  }

  #simulate(step: number): Confirmation[] {
    const { waiting, arriving, capacity, spacing } = this.market
    const at = (sums: readonly number[]): number => sums[step] as number
    const [ahead, most] = [at(waiting), capacity * USED]
    return DRAWS.map(({ times, lately, usually }, index) => {
      const [near, far] = [lately * at(arriving.lately), usually * at(arriving.usually)]
      const latelySeconds = this.#latelySeconds[index] as Float64Array
      for (let block = Math.max(0, Math.ceil(ahead / most) - 1); block < FUTURE_BLOCKS; block++) {
        const seconds = (times[block] as number) * spacing
        const before = latelySeconds[block] as number
        if (ahead + near * before + far * (seconds - before) <= (block + 1) * most)
          return { blocks: block + 1, seconds }
      }
      return { blocks: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY }
    })
  }
}

/** Returns the share of futures in which a transaction is confirmed in time, 0 to 1. */
export const chanceOf = (
  confirmations: readonly Confirmation[],
  isInTime: (confirmation: Confirmation) => boolean,
): number => confirmations.filter(isInTime).length / confirmations.length
