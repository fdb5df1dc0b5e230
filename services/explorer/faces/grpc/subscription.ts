import type { MessageInitShape } from '@bufbuild/protobuf'
import { LRUCache } from 'lru-cache'
import {
  type ChannelEvent,
  ChannelEventSchema,
  ChannelSchema,
  type SubscribeRequest,
} from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { bytesOf } from '../../../rpc/definition.js'
import { RpcError } from '../../../rpc/error.js'
import type { Call } from '../../../rpc/handlers.js'
import {
  BAD_CHANNEL,
  BAD_REMOVALS,
  BAD_SINCE,
  BEHIND_WAIT_MS,
  type Feed,
  isChannel,
  isSeq,
  streamOf,
} from '../../core/feed/feed.js'
import { textOf, toMessage } from './messages.js'

type Event = MessageInitShape<typeof ChannelEventSchema>

/** The number of events that are read from the feed at once. */
const AT_ONCE = 16
/** The number of encoded events to keep: streams that are further behind than this encode their events themselves. */
const MAX_ENCODED = 1_024

/** The events of the feed as Protobuf. Each is encoded once, however many streams send it. */
export class EncodedEvents {
  readonly #bytes = new LRUCache<string, Buffer>({ max: MAX_ENCODED })

  /** Returns the bytes of an event. @param text the WebSocket message of the feed. */
  bytesOf(text: string): Buffer {
    const known = this.#bytes.get(text)
    if (known !== undefined) return known
    const bytes = bytesOf(ChannelEventSchema, eventOf(text))
    this.#bytes.set(text, bytes)
    return bytes
  }
}

/**
 * Streams the events of a channel to one client. Only the number of the client's last event is stored: further events are read
 * from the feed when the client is ready. A client that is too slow for them receives resync, as after a gap.
 * @throws RpcError INVALID_ARGUMENT.
 */
export async function* subscription(
  feed: Feed,
  request: SubscribeRequest,
  call: Call,
  encoded: EncodedEvents,
): AsyncGenerator<Event | Buffer> {
  const channel = textOf(ChannelSchema, request.channel)
  if (!isChannel(channel)) throw new RpcError('HW_INVALID_ARGUMENT', BAD_CHANNEL)
  if (request.removals && channel !== 'mempool') throw new RpcError('HW_INVALID_ARGUMENT', BAD_REMOVALS)
  const stream = streamOf(channel, request.removals)
  const since = request.since === undefined ? feed.lastOf(stream) : Number(request.since)
  if (!isSeq(since)) throw new RpcError('HW_INVALID_ARGUMENT', BAD_SINCE)
  call.sendHeaders()
  if (feed.isBehind(stream, since)) {
    const late = AbortSignal.timeout(BEHIND_WAIT_MS)
    await feed.reached(stream, since, AbortSignal.any([call.signal, late]))
  }
  for (let position = since; !call.signal.aborted;) {
    const messages = feed.missed(stream, position, AT_ONCE)
    if (messages === undefined) {
      position = feed.lastOf(stream)
      yield {
        channel: request.channel,
        seq: BigInt(position),
        data: { case: 'resync', value: {} },
      }
    } else if (messages.length === 0) await feed.changed(stream, call.signal)
    for (const message of messages ?? []) {
      yield encoded.bytesOf(message)
      position++
    }
  }
}

/** Converts a WebSocket message of the feed. */
function eventOf(text: string): ChannelEvent {
  const { channel, seq, data } = JSON.parse(text) as { channel: string; seq: number; data: object }
  const field = channel.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return toMessage(ChannelEventSchema, { channel, seq, [field]: data })
}
