import {
  type ChannelEvent,
  ChannelEventSchema,
  ChannelSchema,
  type SubscribeRequest,
} from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { bytesOf } from '../../../rpc/definition.js'
import { RpcError } from '../../../rpc/error.js'
import type { Call } from '../../../rpc/handlers.js'
import type { Core } from '../../core/core.js'
import type { AddressMessage } from '../../core/feed/address-feed.js'
import { ADDRESS } from '../../core/feed/channels.js'
import type { FeedMessage } from '../../core/feed/pull.js'
import { requestedSince, requestedStream } from '../../core/feed/streams.js'
import { BadArgument } from '../../core/reads/read.js'
import { textOf, toMessage } from './messages.js'

export type Feeds = Pick<Core, 'feed' | 'addresses'>

/** The events of the feed as Protobuf. Each is encoded once, however many streams send it. */
export class EncodedEvents {
  readonly #bytes = new WeakMap<FeedMessage, Buffer>()

  bytesOf(channel: string, message: FeedMessage): Buffer {
    let bytes = this.#bytes.get(message)
    if (bytes === undefined)
      this.#bytes.set(message, (bytes = bytesOf(ChannelEventSchema, eventOf(channel, message))))
    return bytes
  }
}

/** Streams the events of a channel, or the changes of addresses, to one client when it is ready. @throws RpcError INVALID_ARGUMENT. */
export async function* subscription(
  feeds: Feeds,
  request: SubscribeRequest,
  call: Call,
  encoded: EncodedEvents,
): AsyncGenerator<Buffer> {
  // The names of channels have hyphens: whale-alerts for CHANNEL_WHALE_ALERTS.
  const channel = textOf(ChannelSchema, request.channel)?.replaceAll('_', '-')
  const messages = messagesOf(feeds, channel, request, call.signal)
  call.sendHeaders()
  for await (const message of messages) yield encoded.bytesOf(channel ?? '', message)
}

function messagesOf(
  { feed, addresses }: Feeds,
  channel: string | undefined,
  request: SubscribeRequest,
  signal: AbortSignal,
): AsyncGenerator<FeedMessage | AddressMessage, void> {
  const since = request.since === undefined ? undefined : Number(request.since)
  try {
    if (channel === ADDRESS.name) return addresses.messages({ addresses: request.addresses, since }, signal)
    return feed.messages(requestedStream(channel, request.removals), requestedSince(since), signal)
  } catch (error) {
    throw error instanceof BadArgument ? new RpcError(error.code, error.message) : error
  }
}

function eventOf(channel: string, message: FeedMessage & { readonly address?: string }): ChannelEvent {
  const { seq, data, address } = message
  const field = channel.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const content = data === undefined ? { resync: { address } } : { [field]: data }
  return toMessage(ChannelEventSchema, { channel, seq, ...content })
}
