import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { crc32 } from 'node:zlib'
import { type ChainEvent, ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'

type Fields = Omit<MessageInitShape<typeof ChainEventSchema>, '$typeName' | '$unknown' | 'checksum'>

/** The Protobuf tag of field 8 as fixed32, which precedes the four bytes of the checksum. */
const CHECKSUM_TAG = 0x45
const CHECKSUM_BYTES = 5

/** Encodes an event of topic `chain`, with its checksum as the last field. */
export function encodeChainEvent(fields: Fields): Buffer {
  const body = toBinary(ChainEventSchema, create(ChainEventSchema, fields))
  const value = Buffer.allocUnsafe(body.length + CHECKSUM_BYTES)
  value.set(body)
  value.writeUInt8(CHECKSUM_TAG, body.length)
  value.writeUInt32LE(crc32(body), body.length + 1)
  return value
}

/**
 * Decodes an event of topic `chain`.
 * @throws Error for bytes that are not an event, or do not match the checksum.
 */
export function decodeChainEvent(value: Uint8Array): ChainEvent {
  const event = fromBinary(ChainEventSchema, value)
  const body = value.subarray(0, value.length - CHECKSUM_BYTES)
  if (value[body.length] !== CHECKSUM_TAG || event.checksum !== crc32(body))
    throw new Error(`its checksum does not match: expected ${event.checksum.toString(16)}`)
  return event
}
