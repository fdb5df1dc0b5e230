import type { ClientError } from '../../../pipelines/errors.js'
import type { ChainState } from '../state/state.js'

/** Why a request has no answer. Transports return it each in its own form. */
export interface Failure {
  readonly code: ClientError
  /** For the client. */
  readonly message: string
  /** Milliseconds after which the client may ask again. */
  readonly retryMs?: number
  /** Fields of the JSON body, trailers of gRPC; null is a figure that is not known. */
  readonly details?: Readonly<Record<string, string | number | null>>
  /** The state that the failure is of. */
  readonly chain?: ChainState
  /** Of what is missing: the height from which on an index would have it. */
  readonly from?: number
}

/** More is asked for than can be answered soon. No error: throwing one costs more than all else of a refusal. */
export const OVERLOADED: Failure = {
  code: 'HW_OVERLOADED',
  message: 'Overloaded, try again later',
  retryMs: 1_000,
}
/** Head and mempool have not been read yet: the event log may be unreachable, or the database empty. */
export const NOT_READY: Failure = { code: 'HW_NOT_READY', message: 'Not ready yet' }
export const DATABASE_UNAVAILABLE: Failure = {
  code: 'HW_DATABASE_UNAVAILABLE',
  message: 'Database unavailable',
}
export const NODE_UNAVAILABLE: Failure = { code: 'HW_NODE_UNAVAILABLE', message: 'Node unavailable' }
export const UNAUTHORIZED: Failure = { code: 'HW_UNAUTHORIZED', message: 'Unauthorized' }

/** @param details how far the upgrade is. */
export function upgrading(details: NonNullable<Failure['details']>): Failure {
  return { code: 'HW_UPGRADING', message: 'Index is upgrading', retryMs: 5_000, details }
}

/** @param retryMs until a request of the client counts again. */
export function overLimit(retryMs: number): Failure {
  return {
    code: 'HW_RATE_LIMITED',
    message: 'Rate limit exceeded',
    retryMs,
    details: { retry_after_ms: retryMs },
  }
}
