/** The progress of a long job. */
export interface JobProgress {
  readonly done: number
  readonly total: number
  /** Estimate of the remaining time; undefined until there is one. */
  readonly secondsLeft: number | undefined
}

/** The time from which a rate is meaningful. */
const MIN_MS = 1_000

/** The rate of a long job, from which its remaining time is estimated. */
export class Pace {
  readonly #beganAt: number
  readonly #now: () => number

  /** @param now returns milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#beganAt = now()
  }

  /** Returns an estimate of the remaining seconds, for any unit of work; undefined if too little is done. */
  secondsLeft(done: number, total: number): number | undefined {
    const took = this.#now() - this.#beganAt
    if (took < MIN_MS || done <= 0) return undefined
    return Math.ceil(((total - done) * took) / done / 1000)
  }
}
