import type {
  BlockConnected,
  BlockDisconnected,
  ChainEvent,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { BlockId } from '../chain/block.js'
import { hexOf } from '../chain/hash.js'
import { findNetwork, type Network } from '../chain/networks.js'
import type { LogRecord } from '../log/port.js'
import { PoisonEvent } from './poison.js'

export interface PositionedEvent extends LogRecord {
  /** The event. One without a case only marks a state that may be published. */
  readonly event: ChainEvent
}

/**
 * Groups events by the heads that publish them, up to the last state that may be published. A reorganisation has a separate head,
 * from the first block that is disconnected to the first state that may be published. Thus every process that applies the log
 * reports the same reorganisation, regardless of the size of its batches, even a process that repairs the rows of another.
 * @param isReorganising whether a block was disconnected since the last head.
 */
export function headsOf(events: readonly PositionedEvent[], isReorganising: boolean): PositionedEvent[][] {
  const heads: PositionedEvent[][] = []
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

/** Returns the network of an epoch. @throws PoisonEvent if it is unknown, or differs from the network of earlier epochs. */
export function chainOf(position: number, name: string, before: Network | undefined): Network {
  const network = findNetwork(name)
  if (network === undefined) throw new PoisonEvent('chain', position, `unknown chain ${name}`)
  if (before !== undefined && before !== network)
    throw new PoisonEvent('chain', position, `chain ${name} after ${before.name}`)
  return network
}

/** Checks that a block follows the tip. @throws PoisonEvent if it does not. */
export function assertConnects(position: number, event: BlockConnected, tip: BlockId): void {
  const prevHash = hexOf(event.prevHash)
  if (event.height === tip.height + 1 && (event.height === 0 || prevHash === tip.hash)) return
  throw new PoisonEvent(
    'chain',
    position,
    `connects ${String(event.height)} on ${prevHash}, the tip is ${String(tip.height)} ${tip.hash}`,
  )
}

/** Checks that a disconnected block is the tip. @throws PoisonEvent if it is not. */
export function assertDisconnects(position: number, event: BlockDisconnected, tip: BlockId): void {
  const hash = hexOf(event.hash)
  if (hash === tip.hash) return
  throw new PoisonEvent('chain', position, `disconnects ${hash}, the tip is ${tip.hash}`)
}
