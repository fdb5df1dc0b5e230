import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ChannelEventSchema } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import type { FeedMessage } from '../../../../../services/explorer/core/feed/pull.js'
import { EncodedEvents } from '../../../../../services/explorer/faces/grpc/subscription.js'

const block = (height: number): FeedMessage => {
  return { data: { height, hash: 'ab'.repeat(32), tx_count: 3 }, seq: height }
}

describe('events as Protobuf', () => {
  it('are encoded once for all streams', () => {
    const encoded = new EncodedEvents()
    const event = block(7)
    const bytes = encoded.bytesOf('blocks', event)
    expect(encoded.bytesOf('blocks', event)).toBe(bytes)
    expect(fromBinary(ChannelEventSchema, bytes)).toMatchObject({
      seq: 7n,
      data: { case: 'blocks', value: { height: 7n, hash: 'ab'.repeat(32), txCount: 3n } },
    })
  })
})
