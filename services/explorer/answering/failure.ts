import type { ChainState } from '../state/state.js'

/** What stands in the way of an answer. */
export type FailureKind =
  | 'argument'
  | 'token'
  | 'missing'
  | 'limit'
  | 'overload'
  | 'starting'
  | 'upgrading'
  | 'syncing'
  | 'database'
  | 'node'

/** Why a request has no answer. Transports return it each in its own form. */
export interface Failure {
  readonly kind: FailureKind
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
  kind: 'overload',
  message: 'Overloaded, try again later',
  retryMs: 1_000,
}
/** Head and mempool have not been read yet: the event log may be unreachable, or the database empty. */
export const NOT_READY: Failure = { kind: 'starting', message: 'Not ready yet' }
export const DATABASE_UNAVAILABLE: Failure = { kind: 'database', message: 'Database unavailable' }
export const NODE_UNAVAILABLE: Failure = { kind: 'node', message: 'Node unavailable' }
export const UNAUTHORIZED: Failure = { kind: 'token', message: 'Unauthorized' }

export const UPGRADING = 'Index is upgrading'

/** @param details how far the upgrade is. */
export function upgrading(details: NonNullable<Failure['details']>): Failure {
  return { kind: 'upgrading', message: UPGRADING, retryMs: 5_000, details }
}

/** @param retryMs until a request of the client counts again. */
export function overLimit(retryMs: number): Failure {
  return {
    kind: 'limit',
    message: 'Rate limit exceeded',
    retryMs,
    details: { retry_after_ms: retryMs },
  }
}
