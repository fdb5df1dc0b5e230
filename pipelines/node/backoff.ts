export interface Backoff {
  /** Before the second attempt, milliseconds. */
  readonly firstMs: number
  /** Before any attempt, at most. */
  readonly mostMs: number
}

export const NODE_BACKOFF: Backoff = { firstMs: 100, mostMs: 5_000 }

/**
 * How long to wait after the nth failure in a row (from 1), milliseconds: doubled each time, and half of it by chance, so that
 * those who failed together do not come back together.
 */
export function backoffMs({ firstMs, mostMs }: Backoff, failures: number, random = Math.random()): number {
  const whole = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return whole / 2 + (whole / 2) * random
}

/** A pause that all requests to one node share: when it asks one of them to leave it alone, it means all of them. */
export class CoolDown {
  #until = 0
  #setAt = Number.NEGATIVE_INFINITY
  #strikes = 0

  constructor(
    readonly backoff: Backoff,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Milliseconds until the next request may be sent; 0 where it may at once. */
  left(): number {
    return Math.max(0, this.#until - this.now())
  }

  /**
   * The node said that it is busy to a request sent at `sentAt` (this clock). Requests that were under way together count as
   * one refusal.
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

  answered(sentAt: number): void {
    if (sentAt > this.#setAt) this.#strikes = 0
  }
}
