import type { Origin } from '../../../access/client-address.js'
import type { Failure } from '../../core/answering/failure.js'
import type { Commands } from '../../core/core.js'
import type { Version } from './version.js'

/** The session of a client, as methods see it. */
export interface Conversation {
  readonly commands: Commands | undefined
  readonly origin: Origin
  /** Returns whether the negotiated version is at least this one. */
  isAtLeast(version: Version): boolean
  /** Negotiates the version. @returns the name of the server and the version, as JSON. @throws Refusal. */
  identify(requested: unknown): string
  /** Returns what the server is, as JSON. */
  features(): string | Failure
  /** Returns the text for people, as JSON. */
  banner(): string
  /** Sends the client the header of each new tip from now on. @returns the current one, as JSON. */
  subscribeHeaders(): string | Failure
  /** Sends the client each change of the status of a script from now on. @returns a function for its answer. @throws Refusal. */
  subscribe(hash: string): (json: string) => string
  /** Ends a subscription. @returns false if there was none. */
  unsubscribe(hash: string): boolean
}
