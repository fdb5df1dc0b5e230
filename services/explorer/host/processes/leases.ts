import { LRUCache } from 'lru-cache'
import { MAX_CLIENTS } from '../../../access/rate-limit.js'

export interface LeasesOptions<Holder> {
  /** The number of requests that a client may send per window. */
  readonly most: number
  readonly windowMs: number
  /** Takes back the tokens that a holder has left in the window with this end. @returns their number. */
  readonly recall: (holder: Holder, client: string, endsAt: number) => Promise<number>
  /** Returns the time in milliseconds, by a clock that all holders share. */
  readonly now: () => number
}

export interface Lease {
  readonly tokens: number
  readonly endsAt: number
}

interface Window<Holder> {
  readonly endsAt: number
  /** The number of tokens that are not leased. */
  left: number
  /** The processes that may have tokens left. */
  holders: Set<Holder>
  /** The recall in progress. */
  recall: Promise<void> | undefined
}

/**
 * The count of each client's requests, shared by several processes: each of them leases tokens, one per request (more for costly
 * ones), and asks again when it has too few. Before a request is refused, unused tokens are recalled from all other processes. So a client gets
 * exactly its number of requests per window, whichever processes it reaches.
 */
export class Leases<Holder> {
  readonly #options: LeasesOptions<Holder>
  readonly #windows = new LRUCache<string, Window<Holder>>({ max: MAX_CLIENTS })

  constructor(options: LeasesOptions<Holder>) {
    this.#options = options
  }

  /**
   * Leases tokens to a process that has too few.
   * @param unused the rest of the client's previous lease, which the process returns.
   * @returns fewer tokens than wanted if these are the last of the client's window.
   */
  async lease(client: string, amount: number, holder: Holder, unused?: Lease): Promise<Lease> {
    const before = this.#window(client)
    if (unused?.endsAt === before.endsAt) before.left += unused.tokens
    before.holders.delete(holder)
    for (;;) {
      const window = this.#window(client)
      const { endsAt, left } = window
      if (left >= amount || (window.recall === undefined && window.holders.size === 0)) {
        // Half of the rest: few requests wait for a lease, and another process rarely has to recall tokens.
        const tokens = Math.min(left, Math.max(amount, Math.ceil(left / 2)))
        window.left -= tokens
        if (tokens > 0) window.holders.add(holder)
        return { tokens, endsAt }
      }
      // Leases of this turn are sent first: a recall must not overtake them.
      await Promise.resolve()
      await (window.recall ??= this.#recall(client, window))
    }
  }

  #window(client: string): Window<Holder> {
    const { most, windowMs, now } = this.#options
    const current = this.#windows.get(client)
    if (current !== undefined && now() < current.endsAt) return current
    const window = { endsAt: now() + windowMs, left: most, holders: new Set<Holder>(), recall: undefined }
    this.#windows.set(client, window)
    return window
  }

  async #recall(client: string, window: Window<Holder>): Promise<void> {
    const holders = [...window.holders]
    window.holders.clear()
    const returned = await Promise.all(
      holders.map((holder) => this.#options.recall(holder, client, window.endsAt)),
    )
    for (const tokens of returned) window.left += tokens
    window.recall = undefined
  }
}
