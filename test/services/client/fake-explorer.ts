import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type WebSocket, WebSocketServer } from 'ws'

/** A request that reached the explorer. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Reaction = (request: Received, response: ServerResponse) => void

/** An explorer whose answers and feed a test decides. */
export class FakeExplorer {
  readonly received: Received[] = []
  readonly sockets: WebSocket[] = []
  /** The messages of each connection to the feed, parsed. */
  readonly messages: Record<string, unknown>[][] = []

  private constructor(
    readonly url: string,
    readonly close: () => Promise<void>,
  ) {}

  /** @param react answers the requests, in their order; the last one answers all further ones. */
  static async start(...react: Reaction[]): Promise<FakeExplorer> {
    const server = createServer((incoming, response) => {
      const { method = '', url: path = '', headers } = incoming
      const reacted = (body: string): void => {
        const request = { method, path, headers, body }
        const reaction = react[Math.min(explorer.received.length, react.length - 1)]
        explorer.received.push(request)
        reaction?.(request, response)
      }
      // The body of a client that has disconnected cannot be read.
      text(incoming).then(reacted, () => undefined)
    })
    const feed = new WebSocketServer({ server, path: '/ws' })
    feed.on('connection', (socket) => {
      const own: Record<string, unknown>[] = []
      explorer.sockets.push(socket)
      explorer.messages.push(own)
      socket.on('message', (data: Buffer) => {
        const message = JSON.parse(data.toString()) as Record<string, unknown>
        own.push(message)
        const { type, channel } = message
        if (type === 'subscribe') socket.send(JSON.stringify({ type: 'subscribed', channel }))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const explorer = new FakeExplorer(
      `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
      async () => {
        for (const socket of feed.clients) socket.terminate()
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    )
    return explorer
  }

  /** Sends an event on the newest connection. */
  send(channel: string, seq: number, data: object = { height: seq }): void {
    this.sockets.at(-1)?.send(JSON.stringify({ channel, data, seq }))
  }
}

/** Returns a reaction that answers with a body. */
export const answerWith =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reaction =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
