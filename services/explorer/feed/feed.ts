/** Channels of the feed. */
export const CHANNELS = ['blocks', 'mempool', 'stats', 'whale-alerts', 'reorgs'] as const
export type Channel = (typeof CHANNELS)[number]

export const isChannel = (name: unknown): name is Channel => CHANNELS.some((channel) => channel === name)

/** How many past events of a channel can be replayed. */
const KEPT: Readonly<Record<Channel, number>> = {
  blocks: 1_000,
  reorgs: 1_000,
  mempool: 5_000,
  stats: 64,
  'whale-alerts': 1_000,
}

interface Ring {
  /** Seq of the newest event, of `messages` the last. */
  last: number
  messages: string[]
}

/**
 * The numbered events of each channel and the last of them for clients that missed some. Numbers are consecutive: they come
 * from the heads (blocks, reorgs) and from the log (mempool), so that every explorer tells the same.
 */
export class Feed {
  readonly #rings: Readonly<Record<Channel, Ring>>
  readonly #send: (channel: Channel, message: string) => void
  /** Those who wait for the next event of a channel. */
  readonly #waiting = new Map<Channel, Set<() => void>>(CHANNELS.map((channel) => [channel, new Set()]))

  /** @param send hands a message to all subscribers of its channel. */
  constructor(send: (channel: Channel, message: string) => void) {
    this.#send = send
    this.#rings = {
      blocks: { last: 0, messages: [] },
      mempool: { last: 0, messages: [] },
      // No number of an earlier run of this process can be larger: it sends far less than an event a millisecond.
      stats: { last: Date.now(), messages: [] },
      'whale-alerts': { last: Date.now(), messages: [] },
      reorgs: { last: 0, messages: [] },
    }
  }

  lastOf(channel: Channel): number {
    return this.#rings[channel].last
  }

  /** Where the numbering stands before any event that this process tells. */
  begin(channel: Channel, last: number): void {
    const ring = this.#rings[channel]
    ring.last = last
    ring.messages = []
    this.#wake(channel)
  }

  /** Tells an event unless it was told; after a gap (which its origin explains) older ones cannot be replayed any more. */
  publish(channel: Channel, data: object, seq = this.lastOf(channel) + 1): void {
    const ring = this.#rings[channel]
    if (seq <= ring.last) return
    if (seq !== ring.last + 1) ring.messages = []
    const message = JSON.stringify({ channel, data, seq })
    ring.last = seq
    ring.messages.push(message)
    // Cut in steps: moving the whole array at each event would cost more than the few kept in excess.
    if (ring.messages.length > KEPT[channel] * 1.25)
      ring.messages.splice(0, ring.messages.length - KEPT[channel])
    this.#send(channel, message)
    this.#wake(channel)
  }

  /**
   * The events after `since`, undefined where some of them are not known any more (or not yet).
   * @param most of them, the oldest.
   */
  missed(channel: Channel, since: number, most = Number.POSITIVE_INFINITY): readonly string[] | undefined {
    const { last, messages } = this.#rings[channel]
    const count = last - since
    if (count < 0 || count > messages.length) return undefined
    const from = messages.length - count
    return messages.slice(from, from + most)
  }

  /** How many wait for the next event of a channel. */
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Resolves when a channel has something new, or the signal aborts. */
  changed(channel: Channel, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done)
        this.#waiting.get(channel)?.delete(done)
        resolve()
      }
      signal.addEventListener('abort', done)
      this.#waiting.get(channel)?.add(done)
    })
  }

  #wake(channel: Channel): void {
    for (const done of this.#waiting.get(channel) ?? []) done()
  }
}

/** What a client asked, answered: messages for it alone, in order, and whether it hears a channel from now on. */
export interface Reaction {
  readonly replies: readonly string[]
  readonly subscribe?: Channel
  readonly unsubscribe?: Channel
}

/** The protocol: what a message of a client makes the server do. Nothing in it ends the connection. */
export function reactTo(feed: Feed, text: string): Reaction {
  const message = parseMessage(text)
  switch (message?.['type']) {
    case 'ping':
      return { replies: ['{"type":"pong"}'] }
    case 'subscribe':
      return subscribe(feed, message)
    case 'unsubscribe': {
      const { channel } = message
      if (!isChannel(channel)) return unknownChannel()
      return { replies: [JSON.stringify({ type: 'unsubscribed', channel })], unsubscribe: channel }
    }
    default:
      return failure('expected a JSON object with type subscribe, unsubscribe or ping')
  }
}

function subscribe(feed: Feed, { channel, since }: Record<string, unknown>): Reaction {
  if (!isChannel(channel)) return unknownChannel()
  const subscribed = JSON.stringify({ type: 'subscribed', channel })
  if (since === undefined) return { replies: [subscribed], subscribe: channel }
  if (!isSeq(since)) return failure(BAD_SINCE)
  const missed = feed.missed(channel, since) ?? [JSON.stringify({ type: 'resync', channel })]
  return { replies: [subscribed, ...missed], subscribe: channel }
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
export const BAD_CHANNEL = `channel must be one of ${CHANNELS.join(', ')}`

const unknownChannel = (): Reaction => failure(BAD_CHANNEL)

export function failure(error: string): Reaction {
  return { replies: [JSON.stringify({ type: 'error', error, code: 'HW_INVALID_ARGUMENT' })] }
}
