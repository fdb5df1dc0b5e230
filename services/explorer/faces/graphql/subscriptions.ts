import { LRUCache } from 'lru-cache'
import {
  type AddressFeed,
  type AddressMessage,
  MAX_ADDRESSES,
  TOO_MANY_ADDRESSES,
} from '../../core/feed/address-feed.js'
import { addressMessages, addressOf } from '../../core/feed/address-messages.js'
import { BAD_SINCE, BEHIND_WAIT_MS, type Feed, isSeq, type Stream } from '../../core/feed/feed.js'
import { BadArgument } from '../../core/reads/read.js'

/** A message of a subscription. */
export interface ChannelMessage {
  /** The address, of the changes of addresses. */
  readonly address?: string
  readonly seq: string
  readonly resync: boolean
  readonly data: object | null
}

/** The number of events that are read from the feed at once. */
const AT_ONCE = 16
/** The number of parsed events to keep: each is parsed once, however many subscriptions receive it. */
const MAX_PARSED = 1_024

const parsed = new LRUCache<string, ChannelMessage>({ max: MAX_PARSED })

function messageOf(text: string): ChannelMessage {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const { seq, data } = JSON.parse(text) as { seq: number; data: object }
  const message = { seq: String(seq), resync: false, data }
  parsed.set(text, message)
  return message
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

/**
 * Returns the events of a sequence after a number, or from now on. They are read from the feed when the client is ready for them: a
 * client that is too slow receives a resync, as after a gap.
 * @throws BadArgument.
 */
export function channelMessages(feed: Feed, stream: Stream, since: string | undefined): ChannelMessages {
  const from = since === undefined ? feed.lastOf(stream) : Number(since)
  if (!isSeq(from)) throw new BadArgument(BAD_SINCE)
  const end = new AbortController()
  return endedBy(end, readFrom(feed, stream, from, end.signal))
}

/** Returns the changes of addresses after a position, or from now on. @throws BadArgument. */
export function changesOf(
  feed: AddressFeed,
  { addresses, since }: { readonly addresses: readonly string[]; readonly since?: string | null },
  connection: Connection,
): ChannelMessages {
  const count = new Set(addresses).size
  if (connection.addresses + count > MAX_ADDRESSES) throw new BadArgument(TOO_MANY_ADDRESSES)
  const end = new AbortController()
  const request = { addresses, since: typeof since === 'string' ? Number(since) : undefined }
  const messages = addressMessages(feed, request, end.signal)
  connection.addresses += count
  end.signal.addEventListener('abort', () => (connection.addresses -= count))
  return endedBy(end, shown(messages))
}

async function* shown(messages: AsyncIterable<AddressMessage>): AsyncGenerator<ChannelMessage, void> {
  for await (const message of messages) {
    const isEvent = message.kind === 'event'
    const data = isEvent ? message.data : null
    yield { address: addressOf(message), seq: String(message.seq), resync: !isEvent, data }
  }
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

async function* readFrom(
  feed: Feed,
  stream: Stream,
  since: number,
  signal: AbortSignal,
): AsyncGenerator<ChannelMessage, void> {
  if (feed.isBehind(stream, since))
    await feed.reached(stream, since, AbortSignal.any([signal, AbortSignal.timeout(BEHIND_WAIT_MS)]))
  for (let position = since; !signal.aborted;) {
    const texts = feed.missed(stream, position, AT_ONCE)
    if (texts === undefined) {
      position = feed.lastOf(stream)
      yield { seq: String(position), resync: true, data: null }
    } else if (texts.length === 0) await feed.changed(stream, signal)
    for (const text of texts ?? []) {
      yield messageOf(text)
      position++
    }
  }
}
