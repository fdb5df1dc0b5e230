import { fromBinary } from '@bufbuild/protobuf'
import type { EventLog } from '../../pipelines/log/port.js'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'

const READ_AT_ONCE = 1000
/** The number of reported gaps; more of them would follow from the first. */
const SHOWN = 10

/** Counts of topic `chain` of a log, and the positions where it differs from what consecutive pollers append. */
export interface ChainTopic {
  readonly events: number
  /** The number of blocks connected and not disconnected again. */
  readonly blocks: number
  readonly epochs: number
  /** Descriptions of the first gaps; empty if there is none. */
  readonly gaps: readonly string[]
}

/**
 * Reads the whole topic: positions, the sequence of each epoch, and heights and hashes of blocks must be consecutive.
 * Damage that a poller or the materializer would repair is a gap too: an acknowledged event must be where it was
 * acknowledged.
 */
export async function readChainTopic(log: EventLog): Promise<ChainTopic> {
  const gaps: string[] = []
  const chain: string[] = []
  let [events, epochs, epoch, sequence] = [0, 0, 0, -1n]
  for (;;) {
    const records = await log.read('chain', events, READ_AT_ONCE)
    if (records.length === 0) break
    for (const { position, value } of records) {
      const { event, ...number } = fromBinary(ChainEventSchema, value)
      const at = `position ${String(position)} (epoch ${String(number.epoch)}, sequence ${String(number.sequence)})`
      const note = (what: string): void => void (gaps.length < SHOWN && gaps.push(`${at}: ${what}`))
      if (position !== events) note(`position ${String(events)} is missing`)
      const starts = number.epoch > epoch && number.sequence === 0n
      if (!starts && (number.epoch !== epoch || number.sequence !== sequence + 1n))
        note(`follows epoch ${String(epoch)}, sequence ${String(sequence)}`)
      if (starts) epochs++
      ;[epoch, sequence, events] = [number.epoch, number.sequence, position + 1]
      if (event.case === 'blockConnected') {
        const { height, hash, prevHash } = event.value
        const fits = height === chain.length && (height === 0 || hexOf(prevHash) === chain.at(-1))
        if (!fits) note(`connects ${String(height)}, the tip is ${String(chain.length - 1)}`)
        chain.length = height
        chain.push(hexOf(hash))
      } else if (event.case === 'blockDisconnected') {
        if (chain.pop() !== hexOf(event.value.hash)) note(`disconnects a block other than the tip`)
      }
    }
  }
  return { events, blocks: chain.length, epochs, gaps }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
