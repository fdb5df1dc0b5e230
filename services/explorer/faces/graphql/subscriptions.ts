import { type AddressFeed, type AddressRequest, assertAddresses } from '../../core/feed/address-feed.js'
import type { Feed } from '../../core/feed/feed.js'
import type { FeedMessage } from '../../core/feed/pull.js'
import { requestedSince, type Stream } from '../../core/feed/streams.js'

/** A message of a subscription. */
export interface ChannelMessage {
  /** The address, of the changes of addresses. */
  readonly address?: string
  readonly seq: string
  readonly resync: boolean
  readonly data: object | null
}

/** The messages of a subscription. */
export interface ChannelMessages {
  next(): Promise<IteratorResult<ChannelMessage, void>>
  /** Ends the subscription at once. */
  return(): Promise<IteratorResult<ChannelMessage, void>>
}

/** A connection, with the number of addresses that it is subscribed to. */
export interface Connection {
  addresses: number
}

/** Returns the events of a sequence after a number, or from now on. @throws BadArgument. */
export function channelMessages(feed: Feed, stream: Stream, since: number | undefined): ChannelMessages {
  const end = new AbortController()
  return endedBy(end, toChannelMessages(feed.messages(stream, requestedSince(since), end.signal)))
}

/** Returns the changes of addresses after a position, or from now on. @throws BadArgument. */
export function changesOf(
  feed: AddressFeed,
  request: AddressRequest,
  connection: Connection,
): ChannelMessages {
  const count = new Set(request.addresses).size
  assertAddresses(connection.addresses + count)
  const end = new AbortController()
  const messages = feed.messages(request, end.signal)
  connection.addresses += count
  end.signal.addEventListener('abort', () => (connection.addresses -= count))
  return endedBy(end, toChannelMessages(messages))
}

async function* toChannelMessages<M extends FeedMessage>(
  messages: AsyncIterable<M>,
): AsyncGenerator<ChannelMessage, void> {
  for await (const { seq, data = null, ...about } of messages)
    yield { ...about, seq: String(seq), resync: data === null, data }
}

function endedBy(end: AbortController, messages: AsyncGenerator<ChannelMessage, void>): ChannelMessages {
  return {
    next: () => messages.next(),
    return: () => {
      // Otherwise the generator would return only after the next event.
      end.abort()
      return messages.return()
    },
  }
}
