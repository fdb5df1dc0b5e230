import type {
  BlockConnected,
  BlockDisconnected,
  ChainEvent,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { BlockId } from '../chain/block.js'
import { hexOf } from '../chain/hash.js'
import { type Network, NETWORKS } from '../chain/networks.js'
import type { LogRecord } from '../log/port.js'
import type { ConnectedBlock } from './apply/decode.js'
import { PoisonEvent } from './poison.js'

export interface PositionedEvent extends LogRecord {
  /** Without a case where it only says that the state after it may be published. */
  readonly event: ChainEvent
  /** Of an event that connects one, where the reader decodes it. */
  readonly block?: ConnectedBlock
}

/**
 * The events that each head is made of, up to the last that may be shown. A reorganisation has a head of its own, from the first
 * block that leaves to the first state that may be shown: so it is told as the same one by whoever folds the log, however much
 * of it is read at once, also by one that makes again what another had made and lost.
 * @param isReorganising whether a block has left since the last head.
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

/** The chain that an epoch is of. @throws PoisonEvent where it is another than before. */
export function chainOf(position: number, name: string, before: Network | undefined): Network {
  const network = NETWORKS.get(name)
  if (network === undefined) throw new PoisonEvent('chain', position, `unknown chain ${name}`)
  if (before !== undefined && before !== network)
    throw new PoisonEvent('chain', position, `chain ${name} after ${before.name}`)
  return network
}

/** @throws PoisonEvent where the block does not stand on the tip. */
export function assertConnects(position: number, event: BlockConnected, tip: BlockId): void {
  const prevHash = hexOf(event.prevHash)
  if (event.height === tip.height + 1 && (event.height === 0 || prevHash === tip.hash)) return
  throw new PoisonEvent(
    'chain',
    position,
    `connects ${String(event.height)} on ${prevHash}, the tip is ${String(tip.height)} ${tip.hash}`,
  )
}

/** @throws PoisonEvent where the block that leaves is not the tip. */
export function assertDisconnects(position: number, event: BlockDisconnected, tip: BlockId): void {
  const hash = hexOf(event.hash)
  if (hash === tip.hash) return
  throw new PoisonEvent('chain', position, `disconnects ${hash}, the tip is ${tip.hash}`)
}
