import { WebSocket } from 'ws'
import { until } from '../../harness/until.js'

export interface FeedEvent {
  readonly channel: string
  readonly data: object
  readonly seq: number
}

/** A WebSocket client that keeps all messages that it receives. */
export class FeedClient {
  readonly messages: Record<string, unknown>[] = []
  closed = false

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) =>
      this.messages.push(JSON.parse(data.toString()) as Record<string, unknown>),
    )
    socket.on('close', () => (this.closed = true))
    socket.on('error', () => undefined)
  }

  static async connect(url: string, path: string): Promise<FeedClient> {
    const client = new FeedClient(new WebSocket(`${url.replace('http', 'ws')}${path}`))
    await until('the feed is connected', () => client.socket.readyState === WebSocket.OPEN)
    return client
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  async subscribe(channel: string, since?: number): Promise<void> {
    this.send({ type: 'subscribe', channel, ...(since === undefined ? {} : { since }) })
    await this.reply({ type: 'subscribed', channel })
  }

  /** Waits for a message with these fields. */
  reply(fields: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
    return until(`the feed says ${JSON.stringify(fields)}`, () =>
      this.messages.find((message) => Object.entries(fields).every(([key, value]) => message[key] === value)),
    )
  }

  /** Returns the events of a channel so far, when there are at least this many. */
  events(channel: string, least: number): Promise<FeedEvent[]> {
    return until(`${String(least)} events of ${channel}`, () => {
      const events = this.messages.filter((message) => message['channel'] === channel && 'seq' in message)
      return events.length >= least && (events as unknown as FeedEvent[])
    })
  }

  async close(): Promise<void> {
    this.socket.close()
    await until('the feed is closed', () => this.closed)
  }
}
