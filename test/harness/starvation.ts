/** Processor time of one look. */
const SPIN_MICROSECONDS = 40_000

/**
 * Returns how many times longer than its processor time a computation takes just now, 1 on an idle machine: what a bound in wall time
 * is to be multiplied with where others use the processors. Blocks meanwhile.
 */
export function starvation(): number {
  const [from, began] = [process.cpuUsage(), performance.now()]
  for (;;) {
    const { user, system } = process.cpuUsage(from)
    const used = user + system
    if (used >= SPIN_MICROSECONDS) return Math.max(1, ((performance.now() - began) * 1000) / used)
  }
}

/** A bound in wall time that holds on a starved machine too: widened by the worst that was seen since it was made. */
export class Patience {
  #worst = starvation()

  /** @returns `ms` times the worst starvation so far. */
  atMost(ms: number): number {
    this.#worst = Math.max(this.#worst, starvation())
    return ms * this.#worst
  }
}
