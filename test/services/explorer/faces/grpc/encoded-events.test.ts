import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ChannelEventSchema } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { EncodedEvents } from '../../../../../services/explorer/faces/grpc/subscription.js'

const block = (height: number): string =>
  JSON.stringify({ channel: 'blocks', data: { height, hash: 'ab'.repeat(32), tx_count: 3 }, seq: height })

describe('events as Protobuf', () => {
  it('are encoded once for all streams', () => {
    const encoded = new EncodedEvents()
    const bytes = encoded.bytesOf(block(7))
    expect(encoded.bytesOf(block(7))).toBe(bytes)
    expect(fromBinary(ChannelEventSchema, bytes)).toMatchObject({
      seq: 7n,
      data: { case: 'blocks', value: { height: 7n, hash: 'ab'.repeat(32), txCount: 3n } },
    })
  })

  it('are those of each message, however many there are', () => {
    const encoded = new EncodedEvents()
    for (let round = 0; round < 2; round++)
      for (let height = 0; height < 3_000; height++)
        expect(fromBinary(ChannelEventSchema, encoded.bytesOf(block(height))).seq).toBe(BigInt(height))
  })
})
