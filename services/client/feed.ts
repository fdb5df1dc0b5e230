import type { Channel, Events } from './gen/reads.js'
import { ExplorerError, pause, pauseMs } from './request.js'

/** An event of a channel, or the message that events were missed: read the state again. */
export type FeedEvent<C extends Channel = Channel> = {
  [Each in C]:
    | { readonly channel: Each; readonly seq: number; readonly data: Events[Each]; readonly resync?: never }
    | { readonly channel: Each; readonly seq?: never; readonly data?: never; readonly resync: true }
}[C]

export interface EventsOptions {
  /** Ends the iteration when it aborts. */
  readonly signal?: AbortSignal
  /** The `seq` of the last event that is known, by channel: later ones are sent first. Not set: from now on. */
  readonly since?: Readonly<Partial<Record<Channel, number>>>
  /** True for the transactions that leave the mempool too, on channel `mempool`. */
  readonly removals?: boolean
  readonly WebSocket?: SocketClass
}

/** A WebSocket of a browser, of Node from version 22 on, or of package ws. */
interface Socket {
  onopen: (() => void) | null
  onclose: (() => void) | null
  onerror: ((event: never) => void) | null
  onmessage: ((event: { readonly data: never }) => void) | null
  send(text: string): void
  close(): void
}
export type SocketClass = new (url: string) => object

/** Events that may wait for their consumer. With more the connection is closed, and the rest is requested later. */
const MAX_WAITING = 10_000
/** The interval of pings. A connection without any message between two of them is broken. */
const PING_MS = 30_000
/** The prefix of the channels of addresses. Their events are numbered by state, so several events may have one number. */
const ADDRESS_CHANNEL = 'address:'

interface Message {
  readonly type?: string
  readonly error?: string
  readonly channel: Channel
  readonly seq: number
  readonly data: unknown
}

/** Yields the events of channels, in their order, whatever happens to the connections. */
export async function* followFeed(
  url: string,
  channels: readonly Channel[],
  { signal, since = {}, removals = false, WebSocket: webSocket }: EventsOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  const WebSocket = webSocket ?? globalSocket()
  const last = new Map(Object.entries(since) as [Channel, number][])
  const isOver = (): boolean => signal?.aborted === true
  for (let attempt = 0, isFirst = true; !isOver(); attempt++, isFirst = false) {
    const connection = new Connection(new WebSocket(url) as Socket, { channels, removals, last, isFirst })
    const close = (): void => connection.close()
    signal?.addEventListener('abort', close)
    try {
      for await (const event of connection.events()) {
        if (isOver()) return
        attempt = 0
        yield event
      }
    } finally {
      signal?.removeEventListener('abort', close)
      connection.close()
    }
    await pause(pauseMs(attempt), signal).catch(() => undefined)
  }
}

function globalSocket(): SocketClass {
  const { WebSocket } = globalThis as { readonly WebSocket?: SocketClass }
  if (WebSocket !== undefined) return WebSocket
  throw new ExplorerError(
    'there is no global WebSocket: pass one, for example that of package ws',
    'UNKNOWN',
    0,
  )
}

interface Subscriptions {
  readonly channels: readonly Channel[]
  readonly removals: boolean
  /** The `seq` of the last event that was received, by channel. */
  readonly last: Map<Channel, number>
  /** False after a broken connection. */
  readonly isFirst: boolean
}

/** One connection: subscribes to the channels, and collects their events. */
class Connection {
  readonly #socket: Socket
  readonly #subscriptions: Subscriptions
  readonly #waiting: FeedEvent[] = []
  #isOpen = true
  #refusal: ExplorerError | undefined
  #wake = (): void => undefined
  #hasReceived = true
  readonly #pings: ReturnType<typeof setInterval>

  constructor(socket: Socket, subscriptions: Subscriptions) {
    this.#socket = socket
    this.#subscriptions = subscriptions
    socket.onopen = () => {
      this.#subscribe()
    }
    socket.onmessage = ({ data }) => {
      this.#receive(JSON.parse(data) as Message)
    }
    socket.onclose = socket.onerror = () => {
      this.close()
    }
    this.#pings = setInterval(() => {
      if (!this.#hasReceived) this.close()
      else if (this.#isOpen) this.#ping()
    }, PING_MS)
  }

  /** Yields the events until the connection ends. @throws ExplorerError if the explorer refuses a subscription. */
  async *events(): AsyncGenerator<FeedEvent, void, undefined> {
    for (;;) {
      const event = this.#waiting.shift()
      if (event !== undefined) yield event
      else if (this.#refusal !== undefined) throw this.#refusal
      else if (!this.#isOpen) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** Closes the connection. Events that were received remain. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    clearInterval(this.#pings)
    this.#socket.onmessage = null
    this.#socket.close()
    this.#wake()
  }

  #ping(): void {
    this.#hasReceived = false
    this.#send({ type: 'ping' })
  }

  #subscribe(): void {
    const { channels, removals, last } = this.#subscriptions
    for (const channel of channels) {
      const further = removals && channel === 'mempool' ? { removals } : {}
      this.#send({ type: 'subscribe', channel, since: last.get(channel), ...further })
    }
  }

  #send(message: object): void {
    try {
      this.#socket.send(JSON.stringify(message))
    } catch {
      // Not open yet, or not any more: the next ping finds out.
    }
  }

  #receive({ type, error, channel, seq, data }: Message): void {
    this.#hasReceived = true
    const { last, isFirst } = this.#subscriptions
    const previous = last.get(channel)
    if (type === 'error') this.#refusal = new ExplorerError(String(error), 'HW_INVALID_ARGUMENT', 400)
    // Without a number, what happened between two connections is unknown.
    else if (type === 'resync' || (type === 'subscribed' && previous === undefined && !isFirst))
      this.#waiting.push({ channel, resync: true })
    else if (
      type === undefined &&
      (previous === undefined || seq > previous || isSame(channel, seq, previous))
    ) {
      last.set(channel, seq)
      this.#waiting.push({ channel, seq, data } as FeedEvent)
    }
    if (type === 'resync') last.delete(channel)
    this.#wake()
    if (this.#refusal !== undefined || this.#waiting.length > MAX_WAITING) this.close()
  }
}

/** Returns whether an event has the number of the last one, and is nevertheless another one. */
const isSame = (channel: Channel, seq: number, previous: number): boolean =>
  channel.startsWith(ADDRESS_CHANNEL) && seq === previous
