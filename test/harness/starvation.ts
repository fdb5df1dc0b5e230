/** Milliseconds of processor time of one measurement. */
const SPIN_MICROSECONDS = 40_000

/**
 * Returns the wall time of a computation as a multiple of its processor time, 1 on an idle machine: the factor for a
 * time limit if other processes use the processors. Blocks the thread meanwhile.
 */
export function starvation(): number {
  const [from, began] = [process.cpuUsage(), performance.now()]
  for (;;) {
    const { user, system } = process.cpuUsage(from)
    const used = user + system
    if (used >= SPIN_MICROSECONDS) return Math.max(1, ((performance.now() - began) * 1000) / used)
  }
}

/** A time limit that holds on a starved machine too: extended by the worst starvation measured since it was made. */
export class Patience {
  #worst = starvation()

  /**
   * Returns the extended limit.
   * @returns `ms` times the worst starvation so far.
   */
  atMost(ms: number): number {
    this.#worst = Math.max(this.#worst, starvation())
    return ms * this.#worst
  }
}
