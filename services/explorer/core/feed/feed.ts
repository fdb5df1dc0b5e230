/** The channels of the feed. */
export const CHANNELS = ['blocks', 'mempool', 'stats', 'whale-alerts', 'reorgs'] as const
export type Channel = (typeof CHANNELS)[number]

/** The number sequences of events: that of each channel, and that of `mempool` for clients that want removals too. */
export const STREAMS = [...CHANNELS, 'mempool-with-removals'] as const
export type Stream = (typeof STREAMS)[number]

/** Returns the sequence of a channel. @param withRemovals only of `mempool`. */
export const streamOf = (channel: Channel, withRemovals: boolean): Stream =>
  withRemovals && channel === 'mempool' ? 'mempool-with-removals' : channel

/** Returns the channel of a sequence. */
const channelOf = (stream: Stream): Channel => (stream === 'mempool-with-removals' ? 'mempool' : stream)

/** Returns the sequences of a channel. */
export const streamsOf = (channel: Channel): readonly Stream[] =>
  STREAMS.filter((stream) => channelOf(stream) === channel)

export const isChannel = (name: unknown): name is Channel => CHANNELS.some((channel) => channel === name)

/** The events that are numbered by the log and the tables, so the same in every process. */
export const POSITIONED_STREAMS = [
  ...['blocks', 'reorgs', 'mempool', 'mempool-with-removals'],
] as const satisfies readonly Stream[]

/** The number of past events that can be replayed. */
export const KEPT: Readonly<Record<Stream, number>> = {
  blocks: 1_000,
  reorgs: 1_000,
  mempool: 5_000,
  // What enters leaves.
  'mempool-with-removals': 10_000,
  stats: 64,
  'whale-alerts': 1_000,
}

/** The shortest interval between two stats events without a new block. */
export const STATS_EVERY_MS = 5_000
/** The number of whale alerts to remember: far more than there are between two sightings of one transaction. */
export const MAX_ALERTS = 50_000

/** Sends an event to the process that numbers it. */
export type FeedOffer = (channel: 'whale-alerts' | 'stats', id: string, data: object) => void

interface Ring {
  /** Sequence number of the newest event, which is the last of `messages`. */
  last: number
  messages: string[]
}

/**
 * The numbered events of each channel, of which the last are kept for clients that missed some. Numbers are consecutive. Those of
 * blocks and reorgs come from the heads, those of mempool from the log, so they are the same on every explorer.
 */
export class Feed {
  readonly #rings: Readonly<Record<Stream, Ring>>
  readonly #send: (stream: Stream, message: string) => void
  readonly #offer: FeedOffer | undefined
  /** Callbacks that wait for the next event. */
  readonly #waiting = new Map<Stream, Set<() => void>>(STREAMS.map((stream) => [stream, new Set()]))

  /**
   * @param send sends a message to all subscribers.
   * @param offer sends an event that has no number in the log or the tables to the process that numbers them. Not set: they are
   * numbered here.
   */
  constructor(send: (stream: Stream, message: string) => void, offer?: FeedOffer) {
    this.#send = send
    this.#offer = offer
    this.#rings = {
      blocks: { last: 0, messages: [] },
      mempool: { last: 0, messages: [] },
      'mempool-with-removals': { last: 0, messages: [] },
      // Larger than any number of an earlier run of this process, which sends far less than one event per millisecond.
      stats: { last: Date.now(), messages: [] },
      'whale-alerts': { last: Date.now(), messages: [] },
      reorgs: { last: 0, messages: [] },
    }
  }

  lastOf(stream: Stream): number {
    return this.#rings[stream].last
  }

  /** Sets the number before the first event that this process publishes, and drops the events kept so far. */
  begin(stream: Stream, last: number): void {
    const ring = this.#rings[stream]
    ring.last = last
    ring.messages = []
    this.#wake(stream)
  }

  /** Publishes an event that has no number in the log or the tables. @param id identifies it among those of all processes. */
  announce(channel: 'whale-alerts' | 'stats', id: string, data: object): void {
    if (this.#offer === undefined) this.publish(channel, data)
    else this.#offer(channel, id, data)
  }

  /** Publishes an event unless it was published before. After a gap in the numbers, older events can no longer be replayed. */
  publish(stream: Stream, data: object, seq = this.lastOf(stream) + 1): void {
    const ring = this.#rings[stream]
    if (seq <= ring.last) return
    if (seq !== ring.last + 1) ring.messages = []
    const message = JSON.stringify({ channel: channelOf(stream), data, seq })
    ring.last = seq
    ring.messages.push(message)
    // Trimmed in steps: moving the whole array at each event would cost more than the surplus.
    if (ring.messages.length > KEPT[stream] * 1.25)
      ring.messages.splice(0, ring.messages.length - KEPT[stream])
    this.#send(stream, message)
    this.#wake(stream)
  }

  /**
   * Returns the messages after `since`, or undefined if some of them are not kept any more, or `since` is in the future.
   * @param most the maximum number of messages; the oldest are returned.
   */
  missed(stream: Stream, since: number, most = Number.POSITIVE_INFINITY): readonly string[] | undefined {
    const { last, messages } = this.#rings[stream]
    const count = last - since
    if (count < 0 || count > messages.length) return undefined
    const from = messages.length - count
    return messages.slice(from, from + most)
  }

  /**
   * Returns whether a client has received events that this process will publish in a moment: it was connected to another process,
   * which was a little faster. Larger numbers are of an earlier run, or invented.
   */
  isBehind(stream: Stream, since: number): boolean {
    const ahead = since - this.lastOf(stream)
    return ahead > 0 && ahead <= KEPT[stream]
  }

  /** Resolves when an event with this number or a higher one has been published, or when the signal aborts. */
  async reached(stream: Stream, seq: number, signal: AbortSignal): Promise<void> {
    while (this.lastOf(stream) < seq && !signal.aborted) await this.changed(stream, signal)
  }

  /** The number of callers that wait for an event. */
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Resolves at the next event, or when the signal aborts. */
  changed(stream: Stream, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done)
        this.#waiting.get(stream)?.delete(done)
        resolve()
      }
      signal.addEventListener('abort', done)
      this.#waiting.get(stream)?.add(done)
    })
  }

  #wake(stream: Stream): void {
    for (const done of this.#waiting.get(stream) ?? []) done()
  }
}

/** The reaction to a client's message: replies to this client, in order, and the events to subscribe to or unsubscribe from. */
export interface Reaction {
  readonly replies: readonly string[]
  /** The channel whose earlier subscription ends, with or without removals. */
  readonly unsubscribe?: Channel
  readonly subscribe?: Stream
  /** The address to subscribe to. */
  readonly address?: { readonly name: string; readonly since: number | undefined }
  /** The address to unsubscribe from. */
  readonly leave?: string
  /** The reaction that follows when this process has published what the client has already received from another. */
  readonly later?: Later
}

export interface Later {
  readonly channel: Channel
  readonly reached: (signal: AbortSignal) => Promise<void>
  readonly react: () => Reaction
}

/** The maximum time that a subscription waits for events that the client has already received from another process. */
export const BEHIND_WAIT_MS = 2_000

/** Handles a message of a client. No message closes the connection. */
export function reactTo(feed: Feed, text: string): Reaction {
  const message = parseMessage(text)
  switch (message?.['type']) {
    case 'ping':
      return { replies: ['{"type":"pong"}'] }
    case 'subscribe':
      return subscribe(feed, message)
    case 'unsubscribe': {
      const { channel } = message
      const leave = addressOf(channel)
      if (leave !== undefined) return { replies: [JSON.stringify({ type: 'unsubscribed', channel })], leave }
      if (!isChannel(channel)) return unknownChannel()
      return { replies: [JSON.stringify({ type: 'unsubscribed', channel })], unsubscribe: channel }
    }
    default:
      return failure('expected a JSON object with type subscribe, unsubscribe or ping')
  }
}

function subscribe(feed: Feed, { channel, since, removals = false }: Record<string, unknown>): Reaction {
  const subscribed = JSON.stringify({
    type: 'subscribed',
    channel,
    ...(removals === true ? { removals } : {}),
  })
  if (typeof removals !== 'boolean' || (removals && channel !== 'mempool')) return failure(BAD_REMOVALS)
  const name = addressOf(channel)
  if (name !== undefined) {
    if (since !== undefined && !isSeq(since)) return failure(BAD_SINCE)
    return { replies: [subscribed], address: { name, since } }
  }
  if (!isChannel(channel)) return unknownChannel()
  const stream = streamOf(channel, removals)
  const to = { unsubscribe: channel, subscribe: stream }
  if (since === undefined) return { replies: [subscribed], ...to }
  if (!isSeq(since)) return failure(BAD_SINCE)
  const missed = (): readonly string[] =>
    feed.missed(stream, since) ?? [JSON.stringify({ type: 'resync', channel })]
  if (!feed.isBehind(stream, since)) return { replies: [subscribed, ...missed()], ...to }
  const later: Later = {
    channel,
    reached: (signal) => feed.reached(stream, since, signal),
    react: () => ({ replies: missed(), ...to }),
  }
  return { replies: [subscribed], later }
}

/** The prefix of the names of the channels of addresses. */
export const ADDRESS_CHANNEL = 'address:'

/** Returns the address of a channel's name, undefined for another channel. */
function addressOf(channel: unknown): string | undefined {
  return typeof channel === 'string' && channel.startsWith(ADDRESS_CHANNEL)
    ? channel.slice(ADDRESS_CHANNEL.length)
    : undefined
}

function parseMessage(text: string): Record<string, unknown> | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export const isSeq = (since: unknown): since is number => Number.isSafeInteger(since) && Number(since) >= 0

export const BAD_SINCE = `since must be an integer from 0 to ${String(Number.MAX_SAFE_INTEGER)}`
export const BAD_REMOVALS = 'removals must be true or false, and true only with channel mempool'
export const BAD_CHANNEL = `channel must be one of ${CHANNELS.join(', ')}, or ${ADDRESS_CHANNEL} and an address`

const unknownChannel = (): Reaction => failure(BAD_CHANNEL)

export function failure(error: string): Reaction {
  return { replies: [JSON.stringify({ type: 'error', error, code: 'HW_INVALID_ARGUMENT' })] }
}
