/** Pauses between attempts. */
export interface Backoff {
  /** Pause before the second attempt, in milliseconds. */
  readonly firstMs: number
  /** The maximum pause, in milliseconds. */
  readonly maxMs: number
}

export const NODE_BACKOFF: Backoff = { firstMs: 100, maxMs: 5_000 }

/**
 * Returns the pause after the nth consecutive failure (from 1), in milliseconds. It doubles with each failure. Half of it is
 * random, so that clients that failed together do not retry together.
 */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random = Math.random()): number {
  const whole = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return whole / 2 + (whole / 2) * random
}

/** A pause that all requests to one node share: a node that is busy for one request is busy for all. */
export class CoolDown {
  #until = 0
  #setAt = Number.NEGATIVE_INFINITY
  #strikes = 0

  constructor(
    readonly backoff: Backoff,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Returns the time until the next request may be sent, in milliseconds. */
  left(): number {
    return Math.max(0, this.#until - this.now())
  }

  /**
   * Extends the pause because the node was busy for a request. Requests that were in flight together count as one refusal.
   * @param sentAt time of this clock at which the request was sent.
   * @param requestedMs pause that the node asked for, in milliseconds.
   */
  refuse(sentAt: number, requestedMs = 0): void {
    if (sentAt > this.#setAt) {
      this.#strikes++
      this.#setAt = this.now()
    }
    this.#until = Math.max(
      this.#until,
      this.now() + Math.max(requestedMs, backoffMs(this.backoff, this.#strikes)),
    )
  }

  /** Resets the growth of the pause, because the node has answered a request that was sent after the last refusal. */
  answered(sentAt: number): void {
    if (sentAt > this.#setAt) this.#strikes = 0
  }
}
