import type { ClientError } from '../../../../pipelines/errors.js'
import type { LimitPolicy } from '../../../access/rate-limit.js'
import type { ChainState } from '../state/state.js'

/** The reason why a request has no answer. Each transport encodes it in its own form. */
export interface Failure {
  readonly code: ClientError
  /** Message for the client. */
  readonly message: string
  /** Milliseconds after which the client may retry. */
  readonly retryMs?: number
  /** The rate limit that the client has exceeded. */
  readonly limit?: LimitPolicy
  /** Fields of the JSON body, trailers in gRPC; null for an unknown figure. */
  readonly details?: Readonly<Record<string, string | number | null>>
  /** The state that the failure describes. */
  readonly chain?: ChainState
  /** The height from which on an index would contain the missing object. */
  readonly from?: number
}

/** The milliseconds after which a client may retry if the reason may have passed at any moment. */
const SOON_MS = 1_000

/** More requests than can be answered soon. Not an Error, because throwing one costs more than the rest of the refusal. */
export const OVERLOADED: Failure = {
  code: 'HW_OVERLOADED',
  message: 'Overloaded, try again later',
  retryMs: SOON_MS,
}
/** Head and mempool have not been read yet: the event log may be unreachable, or the database empty. */
export const NOT_READY: Failure = { code: 'HW_NOT_READY', message: 'Not ready yet', retryMs: SOON_MS }
export const DATABASE_UNAVAILABLE: Failure = {
  code: 'HW_DATABASE_UNAVAILABLE',
  message: 'Database unavailable',
  retryMs: SOON_MS,
}
export const NODE_UNAVAILABLE: Failure = {
  code: 'HW_NODE_UNAVAILABLE',
  message: 'Node unavailable',
  retryMs: SOON_MS,
}
/** An error in Headwater itself, which is logged. */
export const DEFECT: Failure = { code: 'HW_DEFECT', message: 'Internal Server Error' }
export const UNAUTHORIZED: Failure = { code: 'HW_UNAUTHORIZED', message: 'Unauthorized' }

/** Returns the failure of a client that has exceeded its rate limit. @param retryMs until its limit is reset. */
export function overLimit(retryMs: number, limit: LimitPolicy): Failure {
  return {
    limit,
    code: 'HW_RATE_LIMITED',
    message: 'Rate limit exceeded',
    retryMs,
    details: { retry_after_ms: retryMs },
  }
}
