import { LRUCache } from 'lru-cache'
import { clientOf, type Origin } from './client-address.js'

/** The number of requests that a client may send per window, and the name by which answers refer to it. */
export interface LimitPolicy {
  readonly name: string
  readonly most: number
  readonly windowMs: number
}

/** The rate limit of the clients of a server. */
export interface Limiter {
  readonly policy: LimitPolicy
  /**
   * Counts a request: synchronously, unless other processes share the count and have to be consulted.
   * @param cost the number of requests that it counts as, 1 by default, at most the whole limit. A refused request counts nothing.
   * @returns undefined if the request is within the limit, otherwise the milliseconds until the window ends.
   */
  take(origin: Origin, cost?: number): number | undefined | Promise<number | undefined>
  /** Counts a request without asking other processes. @returns `undecided`, without counting it, if they have to be asked. */
  takeNow(origin: Origin): number | undefined | 'undecided'
}

export interface RateLimitOptions {
  /** Default: `requests`. */
  readonly name?: string
  /** The number of requests that a client may send per window. */
  readonly most: number
  /** Default: one minute. */
  readonly windowMs?: number
  readonly trustedHops: number
  /** A monotonic clock in milliseconds; for tests. */
  readonly now?: () => number
}

/** The window of the rate limit of reads, in milliseconds. */
export const MINUTE_MS = 60_000
/** About 20 MB when full. Beyond it the clients that were idle longest are evicted and start a new window. */
export const MAX_CLIENTS = 100_000

/**
 * Returns the headers of the answer to a request that was refused, by draft-ietf-httpapi-ratelimit-headers-10: the policy, and that
 * nothing is left of it until the window ends.
 */
export function limitHeaders(
  { name, most, windowMs }: LimitPolicy,
  retryMs: number,
): Readonly<Record<'ratelimit' | 'ratelimit-policy', string>> {
  const seconds = (ms: number): string => String(Math.ceil(ms / 1000))
  return {
    ratelimit: `"${name}";r=0;t=${seconds(retryMs)}`,
    'ratelimit-policy': `"${name}";q=${String(most)};w=${seconds(windowMs)}`,
  }
}

interface Window {
  count: number
}

/** Counts the requests of each client in fixed windows, each of which begins with the client's first request. */
export class RateLimit implements Limiter {
  readonly policy: LimitPolicy
  readonly #windows: LRUCache<string, Window>
  readonly #options: RateLimitOptions

  constructor(options: RateLimitOptions) {
    this.#options = options
    const { now, name = 'requests', most, windowMs = MINUTE_MS } = options
    this.policy = { name, most, windowMs }
    this.#windows = new LRUCache({
      max: MAX_CLIENTS,
      ttl: windowMs,
      updateAgeOnGet: false,
      // Reads the clock each time: caching the time would need a timer.
      ttlResolution: 0,
      perf: { now: now ?? (() => performance.now()) },
    })
  }

  takeNow(origin: Origin): number | undefined {
    return this.take(origin)
  }

  take(origin: Origin, cost = 1): number | undefined {
    const { trustedHops, most } = this.#options
    const client = clientOf(origin, trustedHops)
    const counted = Math.min(cost, most)
    let window = this.#windows.get(client)
    if (window === undefined) this.#windows.set(client, (window = { count: 0 }))
    if (window.count + counted <= most) {
      window.count += counted
      return undefined
    }
    return Math.max(1, Math.ceil(this.#windows.getRemainingTTL(client)))
  }
}
