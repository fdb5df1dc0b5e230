import { type Block, parseBlock } from '../../chain/block.js'
import { asBuffer } from '../../chain/bytes.js'
import { hexOf } from '../../chain/hash.js'
import type { Network } from '../../chain/networks.js'
import type { Prevout } from '../../chain/prevout.js'
import type { LogRecord } from '../../log/port.js'
import type { BlockConnected, ChainEvent } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { decodeChainEvent } from '../../events/chain-event.js'
import { PoisonEvent } from '../poison.js'

/** The block of an event. */
export interface ConnectedBlock extends Block {
  readonly height: number
  readonly medianTime: number
  readonly chainwork: string
  /** The outputs that the inputs spend, without the coinbase, in the order of the block. */
  readonly prevouts: readonly Prevout[]
}

/** Decodes a record of topic `chain`. @throws PoisonEvent if it is not an event. */
export function decodeEvent({ position, value }: LogRecord): ChainEvent {
  try {
    return decodeChainEvent(value)
  } catch (error) {
    throw new PoisonEvent('chain', position, `cannot be decoded: ${String(error)}`)
  }
}

/** Decodes a block. @throws PoisonEvent if its hash is not the event's, or if its inputs and prevouts do not match. */
export function decodeBlock(position: number, event: BlockConnected, network: Network): ConnectedBlock {
  const block = parse(position, event, network)
  const hash = hexOf(event.hash)
  if (block.hash !== hash)
    throw new PoisonEvent('chain', position, `names block ${hash} but contains ${block.hash}`)
  const prevouts = event.prevouts.map(({ value, script, height }) => ({
    value,
    script: asBuffer(script),
    height,
  }))
  const spending = block.txs.reduce((count, tx) => count + (tx.isCoinbase ? 0 : tx.inputs.length), 0)
  if (prevouts.length !== spending) {
    throw new PoisonEvent(
      'chain',
      position,
      `block ${hash} has ${String(spending)} inputs and ${String(prevouts.length)} prevouts`,
    )
  }
  return {
    ...block,
    height: event.height,
    medianTime: event.medianTime,
    chainwork: hexOf(event.chainwork),
    prevouts,
  }
}

function parse(position: number, event: BlockConnected, network: Network): Block {
  try {
    return parseBlock(event.raw, network)
  } catch (error) {
    throw new PoisonEvent('chain', position, `block ${hexOf(event.hash)} cannot be read: ${String(error)}`)
  }
}
