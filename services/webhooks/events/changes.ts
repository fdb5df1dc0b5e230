import { hexOf } from '../../../pipelines/chain/hash.js'
import { positionOf } from '../../../pipelines/events/positions.js'
import type { PositionedEvent } from '../../../pipelines/materialize/events.js'
import type { StoredBlock } from '../store.js'

/** The difference between a published state and the next one. */
export interface Changes {
  /** Blocks that have left the chain, highest first. */
  readonly disconnected: readonly StoredBlock[]
  /** Blocks that have joined it, lowest first. */
  readonly connected: readonly StoredBlock[]
}

const NO_BYTES = new Uint8Array()

/** Returns an event without the bytes of its block, so that a long reorganisation does not fill the memory before it is settled. */
export function withoutBlock(positioned: PositionedEvent): PositionedEvent {
  const { event } = positioned
  if (event.event.case !== 'blockConnected') return positioned
  const value = { ...event.event.value, raw: NO_BYTES, prevouts: [] }
  return { ...positioned, value: NO_BYTES, event: { ...event, event: { case: 'blockConnected', value } } }
}

/** Returns what the events that lead to a published state change together. Blocks that left and returned have not changed. */
export function changesBy(events: readonly PositionedEvent[]): Changes {
  const disconnected: StoredBlock[] = []
  const connected: StoredBlock[] = []
  for (const { position: offset, time, event } of events) {
    const { case: kind, value } = event.event
    if (kind !== 'blockConnected' && kind !== 'blockDisconnected') continue
    const position = positionOf(event.generation, offset)
    const block = { height: value.height, hash: hexOf(value.hash), position, time }
    if (kind === 'blockConnected') connected.push(block)
    else if (connected.pop() === undefined) disconnected.push(block)
  }
  while (disconnected.length > 0 && disconnected.at(-1)?.hash === connected[0]?.hash) {
    disconnected.pop()
    connected.shift()
  }
  return { disconnected, connected }
}
