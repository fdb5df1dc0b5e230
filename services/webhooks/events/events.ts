import { createHash } from 'node:crypto'
import type { BlockId } from '../../../pipelines/chain/block.js'
import type { Match, ScriptMatch } from './matching.js'

/** An event for one hook, as it is delivered. */
export interface WebhookEvent {
  /** Id of the hook. */
  readonly hook: string
  /** The `webhook-id`: the same event has the same one, however often and by whichever process it is queued. */
  readonly id: string
  readonly type: keyof EventData
  /** JSON of `{type, timestamp, data}`. */
  readonly body: string
}

/** A record of the log that caused events. */
export interface Cause {
  /** Name of the topic and position in it: identifies the record. */
  readonly position: string
  /** The time at which it was appended, in Unix milliseconds. */
  readonly time: number
}

interface BlockShape extends BlockId {
  /** Time of its header, ISO 8601. */
  readonly time: string
}

interface TransactionShape {
  readonly txid: string
  readonly moved: string | null
  readonly scripts: readonly ScriptMatch[]
}

/** The data of each type of event. Amounts are decimal strings, in base units. */
export interface EventData {
  'transaction.seen': TransactionShape
  'transaction.dropped': {
    readonly txid: string
    readonly reason: string
    readonly replaced_by: string | null
  }
  'transaction.confirmed': TransactionShape & {
    readonly confirmations: number
    readonly block: BlockShape
    /** The tip with which it has that many. */
    readonly tip: BlockId
  }
  'transaction.unconfirmed': TransactionShape & {
    /** The confirmations that it had. */
    readonly confirmations: number
    /** The block that has left the chain. */
    readonly block: BlockShape
    readonly tip: BlockId
  }
  reorg: {
    /** The last block that both branches have; null if they have none. */
    readonly fork: BlockId | null
    readonly depth: number
    /** Hashes of the blocks that have left the chain, highest first. */
    readonly disconnected: readonly string[]
    /** Hashes of the blocks that have joined it, lowest first. */
    readonly connected: readonly string[]
    readonly tip: BlockId
  }
}

/** Returns the part of an event's data that describes a transaction. */
export function transactionOf({ txid, moved, scripts }: Match): TransactionShape {
  return { txid, moved, scripts }
}

/**
 * Returns an event.
 * @param what distinguishes the events of a hook that one record causes.
 */
export function eventOf<T extends keyof EventData>(
  hook: string,
  type: T,
  { position, time }: Cause,
  what: string,
  data: EventData[T],
): WebhookEvent {
  const digest = createHash('sha256')
    .update(JSON.stringify([hook, type, position, what]))
    .digest()
  return {
    hook,
    id: `msg_${digest.toString('base64url', 0, 21)}`,
    type,
    body: JSON.stringify({ type, timestamp: new Date(time).toISOString(), data: { hook, ...data } }),
  }
}
