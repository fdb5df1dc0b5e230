import { LRUCache } from 'lru-cache'
import { clientOf, type Origin } from '../../limits/client-address.js'
import { type Limiter, MAX_CLIENTS } from '../../limits/rate-limit.js'
import type { Lease } from './leases.js'

export interface LeasedLimitOptions {
  readonly most: number
  readonly windowMs: number
  readonly trustedHops: number
  /** Asks the primary for a lease of at least this many tokens. The answer is passed to `receive`. */
  readonly want: (client: string, tokens: number) => void
  /** Called when the primary has not answered in time. */
  readonly onSilence: () => void
  /** Returns the time in milliseconds, by the clock of the primary. */
  readonly now: () => number
}

/** The maximum time that a request waits for the primary. It then counts in this process alone. */
export const LEASE_WAIT_MS = 1_000

/** The requests of a client that wait for a lease. */
interface Waiting {
  readonly decide: ((retryMs: number | undefined) => void)[]
  readonly timer: NodeJS.Timeout
}

/** The rate limit in one of several processes: uses up tokens that the primary has leased to it. */
export class LeasedLimit implements Limiter {
  readonly #options: LeasedLimitOptions
  readonly #leases = new LRUCache<
    string,
    { tokens: number; readonly endsAt: number; readonly isRefused: boolean }
  >({ max: MAX_CLIENTS })
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: LeasedLimitOptions) {
    this.#options = options
  }

  take(origin: Origin): number | undefined | Promise<number | undefined> {
    const client = clientOf(origin, this.#options.trustedHops)
    const decided = this.#decide(client)
    return decided === 'undecided' ? this.#next(client) : decided
  }

  takeNow(origin: Origin): number | undefined | 'undecided' {
    return this.#decide(clientOf(origin, this.#options.trustedHops))
  }

  #decide(client: string): number | undefined | 'undecided' {
    const lease = this.#leases.get(client)
    if (lease === undefined) return 'undecided'
    const restMs = lease.endsAt - this.#options.now()
    if (restMs <= 0) return 'undecided'
    if (lease.isRefused) return Math.ceil(restMs)
    if (lease.tokens === 0) return 'undecided'
    lease.tokens--
    return undefined
  }

  /** Receives a lease, and decides about the requests that wait for it in their order. */
  receive(client: string, { tokens, endsAt }: Lease): void {
    const { decide: requests = [], timer } = this.#waiting.get(client) ?? {}
    clearTimeout(timer)
    this.#waiting.delete(client)
    const admitted = requests.slice(0, tokens)
    const others = requests.slice(tokens)
    const isRefused = tokens === 0
    this.#leases.set(client, { tokens: tokens - admitted.length, endsAt, isRefused })
    for (const decide of admitted) decide(undefined)
    const retryMs = Math.max(1, Math.ceil(endsAt - this.#options.now()))
    if (isRefused) for (const decide of others) decide(retryMs)
    else if (others.length > 0) this.#want(client, others)
  }

  /** Gives up the tokens that are left in the window with this end. @returns their number. */
  giveUp(client: string, endsAt: number): number {
    const lease = this.#leases.peek(client)
    if (lease?.endsAt !== endsAt) return 0
    const { tokens } = lease
    lease.tokens = 0
    return tokens
  }

  #next(client: string): Promise<number | undefined> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(client)
      if (waiting === undefined) this.#want(client, [resolve])
      else waiting.decide.push(resolve)
    })
  }

  #want(client: string, decide: Waiting['decide']): void {
    const { most, windowMs, want, onSilence, now } = this.#options
    const timer = setTimeout(() => {
      onSilence()
      this.receive(client, { tokens: most, endsAt: now() + windowMs })
    }, LEASE_WAIT_MS)
    timer.unref()
    this.#waiting.set(client, { decide, timer })
    want(client, decide.length)
  }
}
