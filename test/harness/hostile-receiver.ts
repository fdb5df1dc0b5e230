import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** A delivery as its receiver read it. */
export interface Received {
  readonly path: string
  readonly id: string
  readonly body: string
  /** The reaction of the receiver. */
  readonly reaction: Reaction
}

/** `ok`, `slow` and `huge` are answers of success; after all others the sender has to try again. */
export type Reaction = 'ok' | 'slow' | 'huge' | 'error' | 'sleep' | 'reset' | 'dribble' | 'redirect'

/** Reactions in the order in which they repeat, for all hooks together. */
const REACTIONS: readonly Reaction[] = [
  ...(['ok', 'error', 'ok', 'ok', 'sleep', 'ok', 'ok', 'reset', 'ok', 'ok', 'slow', 'ok'] as const),
  ...(['ok', 'ok', 'dribble', 'ok', 'ok', 'huge', 'ok', 'ok', 'redirect', 'ok', 'ok'] as const),
]

/**
 * A receiver of webhooks that fails, sleeps, closes connections, answers byte by byte or without end, redirects, and reports errors
 * after it has accepted. It verifies each signature with the library of Standard Webhooks.
 */
export class HostileReceiver {
  readonly received: Received[] = []
  /** The reasons for which requests were refused. */
  readonly refused: string[] = []
  /** The reaction to all requests to a path, instead of those in turn. */
  readonly always = new Map<string, Reaction>()
  readonly #server: Server
  readonly #timers = new Set<NodeJS.Timeout>()
  #count = 0

  private constructor(private readonly secret: string) {
    this.#server = createServer((request, response) => void this.#receive(request, response))
  }

  static async start(secret: string): Promise<HostileReceiver> {
    const receiver = new HostileReceiver(secret)
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const path = request.url ?? ''
    try {
      new Webhook(this.secret).verify(body, request.headers as Record<string, string>)
    } catch (error) {
      this.refused.push(`${path}: ${String(error)}`)
    }
    if (request.method !== 'POST') this.refused.push(`${path}: ${String(request.method)}`)
    const reaction = this.always.get(path) ?? REACTIONS[this.#count++ % REACTIONS.length] ?? 'ok'
    this.received.push({ path, id: String(request.headers['webhook-id']), body, reaction })
    this.#react(reaction, response)
  }

  #react(reaction: Reaction, response: ServerResponse): void {
    const repeat = (text: string): void => {
      const timer = setInterval(() => {
        if (response.destroyed) clearInterval(timer)
        else response.socket?.write(text)
      }, 20)
      this.#timers.add(timer)
    }
    switch (reaction) {
      case 'ok':
        response.writeHead(204).end()
        break
      case 'error':
        response.writeHead(500).end('lost, or not')
        break
      case 'reset':
        response.socket?.resetAndDestroy()
        break
      case 'redirect':
        response.writeHead(302, { location: `${this.url}/redirected` }).end()
        break
      case 'slow':
        response.writeHead(200, { 'content-length': 1_000_000 }).flushHeaders()
        repeat('.')
        break
      case 'dribble':
        response.socket?.write('HTTP/1.1 200 ')
        repeat('O')
        break
      case 'huge':
        response.writeHead(200)
        response.end(Buffer.alloc(64 * 2 ** 20))
        break
      case 'sleep':
    }
  }
}
