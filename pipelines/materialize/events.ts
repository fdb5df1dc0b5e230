import type {
  BlockConnected,
  BlockDisconnected,
  ChainEvent,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { Chain } from '../chain/network.js'
import type { LogRecord } from '../log/port.js'
import { decodeEvent, hexOf } from './decode.js'
import { PoisonEvent } from './poison.js'
import { asChain } from './working-chain.js'

/** The last event that was folded, as its poller numbered it. */
export interface Place {
  readonly epoch: number
  readonly sequence: bigint
}

export interface PlacedEvent extends LogRecord {
  readonly event: ChainEvent
}

interface Tip {
  readonly height: number
  readonly hash: string
}

/**
 * Drops events of an older epoch than the newest, those that came before (the producer's retries), and those that were laid
 * aside.
 */
export function newEvents(
  records: readonly LogRecord[],
  last: Place,
  aside: ReadonlySet<number>,
): PlacedEvent[] {
  let { epoch, sequence } = last
  return records.flatMap((record) => {
    if (aside.has(record.position)) return []
    const event = decodeEvent(record)
    if (event.epoch < epoch || (event.epoch === epoch && event.sequence <= sequence)) return []
    epoch = event.epoch
    sequence = event.sequence
    return [{ ...record, event }]
  })
}

/**
 * The events that each head is made of, up to the last that may be shown. A reorganisation has a head of its own, from the first
 * block that leaves to the first state that may be shown: so it is told as the same one by whoever folds the log, however much
 * of it is read at once, also by one that makes again what another had made and lost.
 * @param isReorganising whether a block has left since the last head.
 */
export function headsOf(events: readonly PlacedEvent[], isReorganising: boolean): PlacedEvent[][] {
  const heads: PlacedEvent[][] = []
  let [from, hasLeft] = [0, isReorganising]
  const last = events.findLastIndex(({ event }) => event.settled)
  for (const [index, { event }] of events.slice(0, last + 1).entries()) {
    hasLeft ||= event.event.case === 'blockDisconnected'
    const leavesNext = events[index + 1]?.event.event.case === 'blockDisconnected'
    if (!event.settled || !(hasLeft || leavesNext || index === last)) continue
    heads.push(events.slice(from, index + 1))
    ;[from, hasLeft] = [index + 1, false]
  }
  return heads
}

/** The chain that an epoch is of. @throws PoisonEvent where it is another than before. */
export function chainOf(position: number, name: string, before: Chain | undefined): Chain {
  const chain = asChain(name)
  if (chain === undefined) throw new PoisonEvent('chain', position, `unknown chain ${name}`)
  if (before !== undefined && before !== chain)
    throw new PoisonEvent('chain', position, `chain ${chain} after ${before}`)
  return chain
}

/** @throws PoisonEvent where the block does not stand on the tip. */
export function mustConnect(position: number, event: BlockConnected, tip: Tip): void {
  const prevHash = hexOf(event.prevHash)
  if (event.height === tip.height + 1 && (event.height === 0 || prevHash === tip.hash)) return
  throw new PoisonEvent(
    'chain',
    position,
    `connects ${String(event.height)} on ${prevHash}, the tip is ${String(tip.height)} ${tip.hash}`,
  )
}

/** @returns the hash of the block that leaves. @throws PoisonEvent where it is not the tip. */
export function mustDisconnect(position: number, event: BlockDisconnected, tip: Tip): string {
  const hash = hexOf(event.hash)
  if (hash === tip.hash) return hash
  throw new PoisonEvent('chain', position, `disconnects ${hash}, the tip is ${tip.hash}`)
}
