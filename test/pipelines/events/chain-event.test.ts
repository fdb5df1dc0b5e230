import { create, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { decodeChainEvent, encodeChainEvent } from '../../../pipelines/events/chain-event.js'
import { ChainEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'

const FIELDS = { epoch: 7, sequence: 3n, settled: true }

describe('an event of topic chain', () => {
  it('is what was encoded', () => {
    expect(decodeChainEvent(encodeChainEvent(FIELDS))).toMatchObject(FIELDS)
  })

  it('is refused if a bit of it has changed, or if it has no checksum', () => {
    const value = encodeChainEvent(FIELDS)
    for (let byte = 0; byte < value.length; byte++) {
      const damaged = Buffer.from(value)
      damaged[byte] = (damaged[byte] ?? 0) ^ 1
      expect(() => decodeChainEvent(damaged), String(byte)).toThrow()
    }
    const unchecked = toBinary(ChainEventSchema, create(ChainEventSchema, FIELDS))
    expect(() => decodeChainEvent(unchecked)).toThrow('checksum')
  })
})
