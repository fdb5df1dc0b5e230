import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  AddressEventSchema,
  Channel,
  type ChannelEventSchema,
  type SubscribeRequest,
} from '../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { RpcError } from '../../rpc/error.js'
import type { Call } from '../../rpc/handlers.js'
import {
  type AddressFeed,
  type AddressMessage,
  BAD_ADDRESS,
  MAX_ADDRESSES,
  TOO_MANY_ADDRESSES,
} from '../feed/address-feed.js'
import { BAD_SINCE, isSeq } from '../feed/feed.js'
import { toMessage } from './messages.js'

type Event = MessageInitShape<typeof ChannelEventSchema>

/** The number of messages that may wait for a client. Beyond it, it receives resync instead, and continues. */
const MAX_WAITING = 10_000

/**
 * Streams the changes of addresses to one client: of each first what it has missed, then `synced`, then changes.
 * @throws RpcError INVALID_ARGUMENT.
 */
export async function* addressSubscription(
  feed: AddressFeed,
  request: SubscribeRequest,
  call: Call,
): AsyncGenerator<Event> {
  const since = request.since === undefined ? undefined : Number(request.since)
  if (since !== undefined && !isSeq(since)) throw new RpcError('HW_INVALID_ARGUMENT', BAD_SINCE)
  const addresses = new Set(request.addresses)
  if (addresses.size === 0 || addresses.size > MAX_ADDRESSES)
    throw new RpcError('HW_INVALID_ARGUMENT', addresses.size === 0 ? NO_ADDRESS : TOO_MANY_ADDRESSES)
  let waiting: AddressMessage[] = []
  let wake: () => void = () => undefined
  const send = (message: AddressMessage): void => {
    const { seq } = message
    // Of the addresses with waiting messages each needs to be read again.
    if (waiting.length >= MAX_WAITING)
      waiting = [...new Set(waiting.map(addressOf))].map((address) => ({ kind: 'resync', address, seq }))
    waiting.push(message)
    wake()
  }
  const ends: (() => void)[] = []
  try {
    for (const address of addresses) {
      const end = feed.subscribe(address, since, send)
      if (end === undefined) throw new RpcError('HW_INVALID_ARGUMENT', BAD_ADDRESS)
      ends.push(end)
    }
    call.sendHeaders()
    const aborted = new Promise<void>((resolve) => {
      call.signal.addEventListener('abort', () => resolve())
    })
    while (!call.signal.aborted) {
      const messages = waiting
      waiting = []
      for (const message of messages) yield eventOf(message)
      if (waiting.length > 0) continue
      await Promise.race([aborted, new Promise<void>((resolve) => (wake = resolve))])
    }
  } finally {
    for (const end of ends) end()
  }
}

const NO_ADDRESS = 'addresses must contain at least one address'

const addressOf = (message: AddressMessage): string =>
  message.kind === 'event' ? message.data.address : message.address

function eventOf(message: AddressMessage): Event {
  const to = { channel: Channel.ADDRESS, seq: BigInt(message.seq) }
  if (message.kind === 'resync')
    return { ...to, data: { case: 'resync', value: { address: message.address } } }
  return { ...to, data: { case: 'address', value: toMessage(AddressEventSchema, { ...message.data }) } }
}
