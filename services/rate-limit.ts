import { LRUCache } from 'lru-cache'
import { clientOf, type Origin } from './client-address.js'

export interface RateLimitOptions {
  /** Requests of a client within a window. */
  readonly most: number
  /** A minute where left out. */
  readonly windowMs?: number
  readonly trustedHops: number
  /** Milliseconds that only grow; for tests. */
  readonly now?: () => number
}

const MINUTE_MS = 60_000
/** About 20 MB when full. Beyond it the clients that were quiet for longest begin a new window. */
const MOST_CLIENTS = 100_000

interface Window {
  count: number
}

/** Counts the requests of each client in fixed windows, each of which begins with the client's first request. */
export class RateLimit {
  readonly #windows: LRUCache<string, Window>
  readonly #options: RateLimitOptions

  constructor(options: RateLimitOptions) {
    this.#options = options
    const { now, windowMs = MINUTE_MS } = options
    this.#windows = new LRUCache({
      max: MOST_CLIENTS,
      ttl: windowMs,
      updateAgeOnGet: false,
      // Asks the clock each time: what it would save by remembering the time costs a timer.
      ttlResolution: 0,
      perf: { now: now ?? (() => performance.now()) },
    })
  }

  /** Counts a request. @returns milliseconds until the client may ask again, undefined where it may now. */
  take(origin: Origin): number | undefined {
    const client = clientOf(origin, this.#options.trustedHops)
    const window = this.#windows.get(client)
    if (window === undefined) {
      this.#windows.set(client, { count: 1 })
      return undefined
    }
    window.count++
    if (window.count <= this.#options.most) return undefined
    return Math.max(1, Math.ceil(this.#windows.getRemainingTTL(client)))
  }
}
