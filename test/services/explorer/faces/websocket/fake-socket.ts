import type { AddressFeed } from '../../../../../services/explorer/core/feed/address-feed.js'
import type { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import { FeedSession } from '../../../../../services/explorer/faces/websocket/session.js'
import type { Socket } from '../../../../../services/explorer/http/sockets.js'

/** A client of the feed, whose connection keeps what is sent to it. */
export class FakeSocket implements Socket {
  readonly protocol = ''
  readonly subscribed = new Set<string>()
  readonly session: FeedSession
  #sent: unknown[] = []

  constructor(feed: Feed, addresses: Pick<AddressFeed, 'subscribe'> = { subscribe: () => () => undefined }) {
    this.session = new FeedSession({ feed, addresses }, this)
  }

  /** Sends a message as the client. @returns the replies so far. */
  say(message: unknown): unknown[] {
    this.session.message(typeof message === 'string' ? message : JSON.stringify(message), false)
    return this.replies()
  }

  /** Returns what was sent since the last call. */
  replies(): unknown[] {
    return this.#sent.splice(0)
  }

  sendAll(texts: readonly string[]): boolean {
    this.#sent.push(...texts.map((text) => JSON.parse(text) as unknown))
    return true
  }

  send(text: string): Promise<void> {
    this.sendAll([text])
    return Promise.resolve()
  }

  subscribe(name: string): void {
    this.subscribed.add(name)
  }

  unsubscribe(name: string): void {
    this.subscribed.delete(name)
  }

  close(): void {
    this.session.closed()
  }
}
