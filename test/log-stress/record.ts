import { createHash } from 'node:crypto'
import type { Topic } from '../../pipelines/log/port.js'

/** The writer of a record, and the record's number. No writer uses a number twice. */
export interface Origin {
  readonly writer: number
  readonly number: number
}

const HEAD_BYTES = 12

/** Returns a value whose every byte depends on topic, writer, number and size. */
export function valueOf(topic: Topic, { writer, number }: Origin, size: number): Buffer {
  const value = Buffer.alloc(Math.max(size, HEAD_BYTES), patternOf(topic, writer, number, size))
  value.writeUInt32BE(writer, 0)
  value.writeUInt32BE(number, 4)
  value.writeUInt32BE(size, 8)
  return value
}

/** Returns the origin of a value; undefined if a byte differs from what `valueOf` made for this topic. */
export function originOf(topic: Topic, value: Uint8Array): Origin | undefined {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  if (bytes.length < HEAD_BYTES) return undefined
  const origin = { writer: bytes.readUInt32BE(0), number: bytes.readUInt32BE(4) }
  const size = bytes.readUInt32BE(8)
  if (Math.max(size, HEAD_BYTES) !== bytes.length) return undefined
  return valueOf(topic, origin, size).equals(bytes) ? origin : undefined
}

function patternOf(topic: Topic, ...numbers: readonly number[]): Buffer {
  return createHash('sha256')
    .update([topic, ...numbers].join('/'))
    .digest()
}
