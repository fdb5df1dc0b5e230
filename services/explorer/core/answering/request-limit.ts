import type { Origin } from '../../../access/client-address.js'
import type { Limiter } from '../../../access/rate-limit.js'
import { type Failure, overLimit } from './failure.js'

/** The limit on the requests of each client of some faces. */
export class RequestLimit {
  /** @param limiter undefined for no limit. */
  constructor(private readonly limiter: Limiter | undefined) {}

  /** True if the requests of clients are counted. */
  get isSet(): boolean {
    return this.limiter !== undefined
  }

  /**
   * Counts a request.
   * @param cost the number of requests that it counts as.
   * @returns a failure if its client has exceeded the limit.
   */
  over(origin: () => Origin, cost = 1): Failure | undefined | Promise<Failure | undefined> {
    const { limiter } = this
    if (limiter === undefined) return undefined
    const failure = (retryMs: number | undefined) =>
      retryMs === undefined ? undefined : overLimit(retryMs, limiter.policy)
    const retryMs = limiter.take(origin(), cost)
    return retryMs instanceof Promise ? retryMs.then(failure) : failure(retryMs)
  }

  /**
   * Counts a request without consulting the other processes.
   * @returns a failure if its client has exceeded the limit, `undecided` if the other processes have to be consulted; the request is
   * then not counted.
   */
  overNow(origin: () => Origin): Failure | undefined | 'undecided' {
    const { limiter } = this
    if (limiter === undefined) return undefined
    const retryMs = limiter.takeNow(origin())
    return typeof retryMs === 'number' ? overLimit(retryMs, limiter.policy) : retryMs
  }
}
