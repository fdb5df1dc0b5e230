import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { clientScript, type ElectrumSizes, hashOf, type Owner } from './electrum-scripts.js'

export interface ClientsTarget extends Pick<ElectrumSizes, 'clients' | 'scriptsOfClient'> {
  readonly electrumPort: number
  /** The port of the feed. */
  readonly port: number
  /** The owner of the scripts that the clients subscribe to. */
  readonly owner: Owner
}

/** A block that pays a script of every client, or none of theirs. */
export interface Expected {
  readonly height: number
  /** The index of the script among the scripts of each client. */
  readonly script: number | undefined
}

/** The results of a round. Times are milliseconds since the event of the feed. */
export interface Round {
  /** The time of the header, of each client that received it. */
  readonly headers: readonly number[]
  /** The time of the status, of each client that received it. */
  readonly statuses: readonly number[]
  readonly lost: number
  /** Messages of subscriptions that no change of a block is the reason of, or that a client received twice. */
  readonly superfluous: number
}

type Order = { readonly kind: 'begin' } | (Expected & { readonly kind: 'expect' })

/** Less than a listening socket's backlog. */
const OPENED_AT_ONCE = 100
/** The time after which messages that have not arrived are lost. */
const PATIENCE_MS = 30_000
/** The time in which superfluous messages arrive. */
const GRACE_MS = 500

/**
 * A process with clients of the Electrum protocol, each with its subscriptions, and a client of the feed: all times are of one clock, and
 * reading is no part of what is measured elsewhere.
 */
export class ElectrumClients {
  readonly #child
  readonly #ended: Promise<never>

  private constructor(
    /** The time in which all clients connected and received the answers to all their subscriptions. */
    public seconds = 0,
  ) {
    this.#child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error('the clients of the Electrum protocol ended')
    })
    this.#ended.catch(() => undefined)
  }

  /** Connects and subscribes all clients. */
  static async connect(target: ClientsTarget): Promise<ElectrumClients> {
    const clients = new ElectrumClients()
    clients.seconds = (await clients.#request(target)) as number
    return clients
  }

  /** Measures a round. @param mine causes a block, and returns what it is. */
  async round(mine: () => Promise<Expected>): Promise<Round> {
    await this.#request({ kind: 'begin' })
    return (await this.#request({ kind: 'expect', ...(await mine()) })) as Round
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

interface Notification {
  readonly method: 'blockchain.headers.subscribe' | 'blockchain.scripthash.subscribe'
  readonly params: readonly [string | { readonly height: number }, (string | null)?]
}

const call = (id: number, method: string, params: readonly unknown[] = []): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`

/** One client: subscribes to the headers and to its scripts, and keeps the messages of a round. */
class Client {
  readonly #socket: Socket
  readonly #statuses = new Map<string, string | null>()
  readonly #hashes: readonly string[]
  readonly #ready: () => void
  #rest = ''
  #answers = 0
  /** The messages since `begin`, with their times. */
  received: { readonly at: number; readonly about: string | number; readonly isChange: boolean }[] = []

  constructor(
    readonly index: number,
    target: ClientsTarget,
    ready: () => void,
  ) {
    const { electrumPort, owner, scriptsOfClient } = target
    this.#ready = ready
    this.#hashes = Array.from({ length: scriptsOfClient }, (_, script) =>
      hashOf(owner, clientScript(index, script, target)),
    )
    this.#socket = connect({ port: electrumPort, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1').on('data', (chunk: string) => {
      this.#read(chunk, performance.now())
    })
    this.#socket.on('error', () => undefined)
    const scripts = this.#hashes.map((hash, id) => call(id, 'blockchain.scripthash.subscribe', [hash]))
    this.#socket.write(
      call(-2, 'server.version', ['bench', '1.4']) +
        call(-1, 'blockchain.headers.subscribe') +
        scripts.join(''),
    )
  }

  /** The hash of one of its scripts. */
  hashAt(script: number): string {
    return this.#hashes[script] ?? ''
  }

  #read(chunk: string, at: number): void {
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = JSON.parse(line) as
        | Notification
        | { readonly id: number; readonly result: string | null; readonly error?: unknown }
      if ('method' in message) this.#note(message, at)
      else if (message.error !== undefined) throw new Error(`an error for a subscription: ${line}`)
      else {
        const hash = this.#hashes[message.id]
        if (hash !== undefined) this.#statuses.set(hash, message.result)
        if (++this.#answers === this.#hashes.length + 2) this.#ready()
      }
    }
  }

  #note({ params: [of, status = null] }: Notification, at: number): void {
    if (typeof of !== 'string') this.received.push({ at, about: of.height, isChange: true })
    else {
      this.received.push({ at, about: of, isChange: this.#statuses.get(of) !== status })
      this.#statuses.set(of, status)
    }
  }
}

/** The events of blocks of the feed. */
class Blocks {
  readonly #times = new Map<number, number>()

  private constructor(socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const at = performance.now()
      const message = JSON.parse(data.toString()) as { readonly data?: { readonly height?: number } }
      const height = message.data?.height
      if (height !== undefined) this.#times.set(height, at)
    })
  }

  static async connect(port: number): Promise<Blocks> {
    const socket = new WebSocket(`ws://127.0.0.1:${String(port)}/ws`)
    await once(socket, 'open')
    const subscribed = once(socket, 'message')
    socket.send('{"type":"subscribe","channel":"blocks"}')
    await subscribed
    return new Blocks(socket)
  }

  timeOf(height: number): number | undefined {
    return this.#times.get(height)
  }
}

/** All clients of the process. */
class Clients {
  readonly #clients: Client[] = []

  private constructor(private readonly blocks: Blocks) {}

  static async connect(target: ClientsTarget): Promise<Clients> {
    const all = new Clients(await Blocks.connect(target.port))
    const { clients } = target
    while (all.#clients.length < clients) {
      const some = Math.min(OPENED_AT_ONCE, clients - all.#clients.length)
      await Promise.all(Array.from({ length: some }, () => all.#connectOne(target)))
    }
    return all
  }

  begin(): void {
    for (const client of this.#clients) client.received = []
  }

  async expect({ height, script }: Expected): Promise<Round> {
    const wanted = this.#clients.map((client) => ({
      client,
      about: [height, ...(script === undefined ? [] : [client.hashAt(script)])],
    }))
    const isComplete = (): boolean =>
      this.blocks.timeOf(height) !== undefined &&
      wanted.every(({ client, about }) =>
        about.every((each) => client.received.some((message) => message.about === each)),
      )
    const end = performance.now() + PATIENCE_MS
    while (!isComplete() && performance.now() < end) await pause(20)
    await pause(GRACE_MS)
    const eventAt = this.blocks.timeOf(height)
    if (eventAt === undefined) throw new Error(`the feed has no event of block ${String(height)}`)
    const round = { headers: [] as number[], statuses: [] as number[], lost: 0, superfluous: 0 }
    for (const { client, about } of wanted) {
      const missing = new Set<string | number>(about)
      for (const message of client.received) {
        if (!missing.delete(message.about) || !message.isChange) round.superfluous++
        else round[message.about === height ? 'headers' : 'statuses'].push(message.at - eventAt)
      }
      round.lost += missing.size
    }
    return round
  }

  #connectOne(target: ClientsTarget): Promise<void> {
    return new Promise((resolve) => {
      this.#clients.push(new Client(this.#clients.length, target, resolve))
    })
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function serve(target: ClientsTarget): Promise<void> {
  const began = performance.now()
  const clients = await Clients.connect(target)
  process.on('message', (order: Order) => {
    if (order.kind === 'begin') {
      clients.begin()
      process.send?.('begun')
    } else void clients.expect(order).then((round) => process.send?.(round))
  })
  process.send?.((performance.now() - began) / 1_000)
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.once('message', (target: ClientsTarget) => void serve(target))
