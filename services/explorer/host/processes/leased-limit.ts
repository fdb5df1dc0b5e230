import { LRUCache } from 'lru-cache'
import { clientOf, type Origin } from '../../../access/client-address.js'
import { type Limiter, type LimitPolicy, MAX_CLIENTS } from '../../../access/rate-limit.js'
import type { Lease } from './leases.js'

export interface LeasedLimitOptions extends LimitPolicy {
  readonly trustedHops: number
  /**
   * Asks the primary for a lease of at least this many tokens, and returns the unused ones of the previous lease. The answer is
   * passed to `receive`.
   */
  readonly want: (client: string, tokens: number, unused: Lease | undefined) => void
  /** Called when the primary has not answered in time. */
  readonly onSilence: () => void
  /** Returns the time in milliseconds, by the clock of the primary. */
  readonly now: () => number
}

/** The maximum time that a request waits for the primary. It then counts in this process alone. */
export const LEASE_WAIT_MS = 1_000

interface WaitingRequest {
  readonly cost: number
  readonly decide: (retryMs: number | undefined) => void
}

/** The requests of a client that wait for a lease. */
interface Waiting {
  readonly requests: WaitingRequest[]
  /** The number of tokens that were asked for. */
  readonly amount: number
  readonly timer: NodeJS.Timeout
}

/** The rate limit in one of several processes: uses up tokens that the primary has leased to it. */
export class LeasedLimit implements Limiter {
  readonly #options: LeasedLimitOptions
  readonly #leases = new LRUCache<
    string,
    { tokens: number; readonly endsAt: number; readonly isLast: boolean }
  >({ max: MAX_CLIENTS })
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: LeasedLimitOptions) {
    this.#options = options
  }

  get policy(): LimitPolicy {
    return this.#options
  }

  take(origin: Origin, cost = 1): number | undefined | Promise<number | undefined> {
    const { trustedHops, most } = this.#options
    const client = clientOf(origin, trustedHops)
    const counted = Math.min(cost, most)
    const decided = this.#decide(client, counted)
    return decided === 'undecided' ? this.#next(client, counted) : decided
  }

  takeNow(origin: Origin): number | undefined | 'undecided' {
    return this.#decide(clientOf(origin, this.#options.trustedHops), 1)
  }

  #decide(client: string, cost: number): number | undefined | 'undecided' {
    const lease = this.#leases.get(client)
    if (lease === undefined) return 'undecided'
    const restMs = lease.endsAt - this.#options.now()
    if (restMs <= 0) return 'undecided'
    if (lease.tokens < cost) return lease.isLast ? Math.ceil(restMs) : 'undecided'
    lease.tokens -= cost
    return undefined
  }

  /** Receives a lease, and decides about the requests that wait for it, in their order. */
  receive(client: string, { tokens, endsAt }: Lease): void {
    const { requests = [], amount = 1, timer } = this.#waiting.get(client) ?? {}
    clearTimeout(timer)
    this.#waiting.delete(client)
    const isLast = tokens < amount
    const lease = { tokens, endsAt, isLast }
    this.#leases.set(client, lease)
    const others: WaitingRequest[] = []
    for (const request of requests) {
      if (request.cost > lease.tokens) others.push(request)
      else {
        lease.tokens -= request.cost
        request.decide(undefined)
      }
    }
    const retryMs = Math.max(1, Math.ceil(endsAt - this.#options.now()))
    if (isLast) for (const { decide } of others) decide(retryMs)
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

  #next(client: string, cost: number): Promise<number | undefined> {
    return new Promise((decide) => {
      const waiting = this.#waiting.get(client)
      if (waiting === undefined) this.#want(client, [{ cost, decide }])
      else waiting.requests.push({ cost, decide })
    })
  }

  #want(client: string, requests: WaitingRequest[]): void {
    const { most, windowMs, want, onSilence, now } = this.#options
    const timer = setTimeout(() => {
      onSilence()
      this.receive(client, { tokens: most, endsAt: now() + windowMs })
    }, LEASE_WAIT_MS)
    timer.unref()
    const amount = requests.reduce((sum, { cost }) => sum + cost, 0)
    this.#waiting.set(client, { requests, amount, timer })
    const lease = this.#leases.peek(client)
    const unused = lease === undefined ? undefined : { tokens: lease.tokens, endsAt: lease.endsAt }
    if (lease !== undefined) lease.tokens = 0
    want(client, amount, unused)
  }
}
