import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { clientFrame, FrameReader, OPCODE, seqOf } from './feed-frames.js'

export interface ClientsTarget {
  readonly port: number
  readonly clients: number
  /** True for clients that subscribe and then never read. */
  readonly areStalled: boolean
}

/** The results of a round: what all clients received of the messages that were published in it. */
export interface Round {
  /** From the first message that any client received to the last one. */
  readonly seconds: number
  readonly deliveries: number
  /** Messages that a client did not receive, or not in order. */
  readonly lost: number
  /** The messages, as the first client received them. */
  readonly messages: readonly string[]
}

type Order = { readonly kind: 'begin' } | { readonly kind: 'expect'; readonly messages: number }

const CHANNELS = ['blocks', 'mempool'] as const
/** Less than a listening socket's backlog. */
const OPENED_AT_ONCE = 100
/** The time after which messages that have not arrived are lost. */
const PATIENCE_MS = 60_000

/** A process with clients of a feed that does nothing else, so that they are not part of what is measured. */
export class FeedClients {
  readonly #child
  readonly #ended: Promise<never>

  private constructor() {
    this.#child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error('the clients of the feed ended')
    })
    this.#ended.catch(() => undefined)
  }

  /** Connects and subscribes all clients. */
  static async connect(target: ClientsTarget): Promise<FeedClients> {
    const clients = new FeedClients()
    await clients.#request(target)
    return clients
  }

  /** Measures a round. @param publish causes messages, and returns their number. */
  async round(publish: () => Promise<number>): Promise<Round> {
    await this.#request({ kind: 'begin' })
    return (await this.#request({ kind: 'expect', messages: await publish() })) as Round
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended.catch(() => undefined)
  }

  async #request(message: ClientsTarget | Order): Promise<unknown> {
    const answered = once(this.#child, 'message')
    this.#child.send(message)
    const [answer] = (await Promise.race([answered, this.#ended])) as [unknown]
    return answer
  }
}

/** Shared by all connections: each chunk is parsed before the next one is read. */
const buffer = Buffer.alloc(256 * 1024)

/** One client: subscribes to all channels, and reports events. */
class Client {
  readonly #socket: Socket
  readonly #reader = new FrameReader()
  readonly #last = new Map<number, number>()
  #head = ''
  #isUpgraded = false
  #subscribed = 0
  /** Messages of the current round. */
  received = 0
  lost = 0

  constructor(
    { port, areStalled }: ClientsTarget,
    private readonly events: { ready(): void; event(text: () => string): void },
  ) {
    const callback = (bytes: number): boolean => {
      this.#read(buffer.subarray(0, bytes))
      return !(areStalled && this.#subscribed === CHANNELS.length)
    }
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
    this.#socket.write(
      [
        'GET /ws HTTP/1.1',
        'Host: 127.0.0.1',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        '',
        '',
      ].join('\r\n'),
    )
    this.#socket.on('error', () => undefined)
  }

  begin(): void {
    this.received = 0
    this.lost = 0
    this.#last.clear()
  }

  #read(chunk: Buffer): void {
    if (this.#isUpgraded) {
      this.#frames(chunk)
      return
    }
    this.#head += chunk.toString('latin1')
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!this.#head.startsWith('HTTP/1.1 101')) throw new Error(`no upgrade: ${this.#head.slice(0, 100)}`)
    this.#isUpgraded = true
    for (const channel of CHANNELS)
      this.#socket.write(clientFrame(OPCODE.text, `{"type":"subscribe","channel":"${channel}"}`))
    this.#frames(Buffer.from(this.#head.slice(end + 4), 'latin1'))
  }

  #frames(chunk: Buffer): void {
    this.#reader.read(chunk, (opcode, data, start, end) => {
      if (opcode === OPCODE.ping) this.#socket.write(clientFrame(OPCODE.pong, ''))
      if (opcode !== OPCODE.text) return
      const seq = seqOf(data, start, end)
      if (seq === undefined) {
        if (++this.#subscribed === CHANNELS.length) this.events.ready()
        return
      }
      // The first letter of the channel's name.
      const channel = data[start + 12] ?? 0
      const last = this.#last.get(channel)
      if (last !== undefined && seq !== last + 1) this.lost++
      this.#last.set(channel, seq)
      this.received++
      this.events.event(() => data.toString('utf8', start, end))
    })
  }
}

/** All clients of the process. */
class Clients {
  readonly #clients: Client[] = []
  #messages: string[] = []
  #firstAt = 0
  #lastAt = 0

  async connect(target: ClientsTarget): Promise<void> {
    while (this.#clients.length < target.clients) {
      const some = Math.min(OPENED_AT_ONCE, target.clients - this.#clients.length)
      await Promise.all(Array.from({ length: some }, () => this.#connectOne(target)))
    }
  }

  begin(): void {
    this.#messages = []
    this.#firstAt = 0
    for (const client of this.#clients) client.begin()
  }

  /** Waits until every client has received this number of messages since `begin`. */
  async expect(messages: number): Promise<Round> {
    const end = performance.now() + PATIENCE_MS
    const isComplete = (): boolean => this.#clients.every(({ received }) => received >= messages)
    while (!isComplete() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5))
    const sum = (of: (client: Client) => number): number =>
      this.#clients.reduce((total, client) => total + of(client), 0)
    return {
      seconds: (this.#lastAt - this.#firstAt) / 1000,
      deliveries: sum(({ received }) => received),
      lost: sum(({ received, lost }) => Math.max(0, messages - received) + lost),
      messages: this.#messages,
    }
  }

  #connectOne(target: ClientsTarget): Promise<void> {
    return new Promise((resolve) => {
      const isFirst = this.#clients.length === 0
      const client = new Client(target, {
        ready: resolve,
        event: (text) => {
          this.#lastAt = performance.now()
          if (this.#firstAt === 0) this.#firstAt = this.#lastAt
          if (isFirst) this.#messages.push(text())
        },
      })
      this.#clients.push(client)
    })
  }
}

function serve(target: ClientsTarget): void {
  const clients = new Clients()
  process.on('message', (order: Order) => {
    if (order.kind === 'begin') {
      clients.begin()
      process.send?.('begun')
    } else void clients.expect(order.messages).then((round) => process.send?.(round))
  })
  void clients.connect(target).then(() => process.send?.('connected'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.once('message', serve)
