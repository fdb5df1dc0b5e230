import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  AddressEventSchema,
  Channel,
  type ChannelEventSchema,
  type SubscribeRequest,
} from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { RpcError } from '../../../rpc/error.js'
import type { Call } from '../../../rpc/handlers.js'
import type { AddressFeed, AddressMessage } from '../../core/feed/address-feed.js'
import { addressMessages } from '../../core/feed/address-messages.js'
import { BadArgument } from '../../core/reads/read.js'
import { toMessage } from './messages.js'

type Event = MessageInitShape<typeof ChannelEventSchema>

/**
 * Streams the changes of addresses to one client: of each first what it has missed, then `synced`, then changes.
 * @throws RpcError INVALID_ARGUMENT.
 */
export async function* addressSubscription(
  feed: AddressFeed,
  { addresses, since }: SubscribeRequest,
  call: Call,
): AsyncGenerator<Event> {
  const request = { addresses, since: since === undefined ? undefined : Number(since) }
  const messages = subscribed(() => addressMessages(feed, request, call.signal))
  call.sendHeaders()
  for await (const message of messages) yield eventOf(message)
}

/** Returns what a function returns. @throws RpcError for invalid arguments. */
function subscribed<T>(subscribe: () => T): T {
  try {
    return subscribe()
  } catch (error) {
    throw error instanceof BadArgument ? new RpcError(error.code, error.message) : error
  }
}

function eventOf(message: AddressMessage): Event {
  const to = { channel: Channel.ADDRESS, seq: BigInt(message.seq) }
  if (message.kind === 'resync')
    return { ...to, data: { case: 'resync', value: { address: message.address } } }
  return { ...to, data: { case: 'address', value: toMessage(AddressEventSchema, { ...message.data }) } }
}
