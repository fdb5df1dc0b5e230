import type { Core } from '../../core/core.js'
import { type AddressFeed, type AddressMessage, assertAddresses } from '../../core/feed/address-feed.js'
import { ADDRESS_CHANNEL } from '../../core/feed/channels.js'
import {
  assertRemovals,
  type Channel,
  requestedChannel,
  requestedSince,
  requestedStream,
  type Stream,
  streamsOf,
} from '../../core/feed/streams.js'
import { BadArgument } from '../../core/reads/read.js'
import type { Session, Socket } from '../../http/sockets.js'

export type Feeds = Pick<Core, 'feed'> & { readonly addresses: Pick<AddressFeed, 'subscribe'> }

/** A client of the feed. Live events reach it as messages that are published under the name of their sequence. */
export class FeedSession implements Session {
  readonly #feeds: Feeds
  readonly #socket: Socket
  /** The subscriptions that wait until this process has got as far as the client, by channel. */
  readonly #waiting = new Map<Channel, AbortController>()
  /** The functions that end the subscriptions to addresses. */
  readonly #addresses = new Map<string, () => void>()

  constructor(feeds: Feeds, socket: Socket) {
    this.#feeds = feeds
    this.#socket = socket
  }

  /** Handles a message of the client. None closes the connection. */
  message(text: string, isBinary: boolean): void {
    try {
      if (isBinary) throw new BadArgument('messages must be text')
      this.#react(parseMessage(text))
    } catch (error) {
      if (!(error instanceof BadArgument)) throw error
      this.#reply({ type: 'error', error: error.message, code: error.code })
    }
  }

  closed(): void {
    for (const waiting of this.#waiting.values()) waiting.abort()
    for (const end of this.#addresses.values()) end()
  }

  #react(message: Message): void {
    switch (message.type) {
      case 'ping':
        this.#reply({ type: 'pong' })
        return
      case 'subscribe':
        this.#subscribe(message)
        return
      case 'unsubscribe':
        this.#unsubscribe(message)
        return
      default:
        throw new BadArgument('expected a JSON object with type subscribe, unsubscribe or ping')
    }
  }

  #reply(message: object): void {
    this.#socket.sendAll([JSON.stringify(message)])
  }

  #subscribe({ channel, since, removals = false }: Message): void {
    assertRemovals(channel, removals)
    const subscribed = { type: 'subscribed', channel, ...(removals ? { removals } : {}) }
    const address = addressOf(channel)
    if (address !== undefined) {
      this.#subscribeToAddress(address, requestedSince(since))
      this.#reply(subscribed)
      return
    }
    const name = requestedChannel(channel)
    const stream = requestedStream(name, removals)
    const from = requestedSince(since)
    this.#stopWaiting(name)
    this.#reply(subscribed)
    if (from === undefined) {
      this.#follow(name, stream)
      return
    }
    const waiting = new AbortController()
    const caughtUp = this.#feeds.feed.caughtUp(stream, from, waiting.signal)
    if (caughtUp === undefined) {
      this.#resume(name, stream, from)
      return
    }
    this.#waiting.set(name, waiting)
    void caughtUp.then(() => {
      if (waiting.signal.aborted) return
      this.#waiting.delete(name)
      this.#resume(name, stream, from)
    })
  }

  /** Sends what was missed and subscribes in one turn of the event loop, so that no event in between is lost or sent twice. */
  #resume(channel: Channel, stream: Stream, since: number): void {
    const missed = this.#feeds.feed.missed(stream, since)?.map(({ text }) => text)
    if (this.#socket.sendAll(missed ?? [JSON.stringify({ type: 'resync', channel })]))
      this.#follow(channel, stream)
  }

  /** Receives the events of a sequence instead of the events of the channel's other sequence. */
  #follow(channel: Channel, stream: Stream): void {
    for (const each of streamsOf(channel)) if (each !== stream) this.#socket.unsubscribe(each)
    this.#socket.subscribe(stream)
  }

  #subscribeToAddress(address: string, since: number | undefined): void {
    this.#leave(address)
    assertAddresses(this.#addresses.size + 1)
    const send = (message: AddressMessage): void => {
      this.#socket.sendAll([addressText(message)])
    }
    this.#addresses.set(address, this.#feeds.addresses.subscribe(address, since, send))
  }

  #unsubscribe({ channel }: Message): void {
    const address = addressOf(channel)
    if (address === undefined) {
      const name = requestedChannel(channel)
      this.#stopWaiting(name)
      for (const stream of streamsOf(name)) this.#socket.unsubscribe(stream)
    } else this.#leave(address)
    this.#reply({ type: 'unsubscribed', channel })
  }

  /** Ends the subscription to an address, if there is one. */
  #leave(address: string): void {
    this.#addresses.get(address)?.()
    this.#addresses.delete(address)
  }

  /** Ends the wait of an earlier subscription to a channel, if there is one. */
  #stopWaiting(channel: Channel): void {
    this.#waiting.get(channel)?.abort()
    this.#waiting.delete(channel)
  }
}

/** A message of a client. */
interface Message {
  readonly type?: unknown
  readonly channel?: unknown
  readonly since?: unknown
  readonly removals?: unknown
}

/** Parses a message; a message that is not a JSON object has no type. */
function parseMessage(text: string): Message {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? message : {}
  } catch {
    return {}
  }
}

/** Returns the address of a channel's name, undefined for another channel. */
const addressOf = (channel: unknown): string | undefined =>
  typeof channel === 'string' && channel.startsWith(ADDRESS_CHANNEL)
    ? channel.slice(ADDRESS_CHANNEL.length)
    : undefined

function addressText({ address, data, seq }: AddressMessage): string {
  const channel = ADDRESS_CHANNEL + address
  return JSON.stringify(data === undefined ? { type: 'resync', channel, seq } : { channel, data, seq })
}
