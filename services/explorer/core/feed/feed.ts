import { BEHIND_WAIT_MS, type FeedMessage, pulled } from './pull.js'
import { type Channel, type NumberedChannel, type Stream, type StreamOf, STREAMS } from './streams.js'

/** An event of a channel. */
export interface KeptEvent extends FeedMessage {
  readonly data: object
  /** Channel, data and number as JSON, made once for all clients. */
  readonly text: string
}

/** Sends an event to the process that numbers it. */
export type FeedOffer = (channel: NumberedChannel, id: string, data: object) => void

/** The last events of a sequence. */
interface Ring {
  readonly channel: Channel
  readonly maxEvents: number
  /** The number of the newest event, which is the last of `events`. */
  last: number
  events: KeptEvent[]
  /** Callbacks that wait for the next event. */
  readonly waiting: Set<() => void>
}

/** The number of events that a subscription takes at once. */
const AT_ONCE = 16

/**
 * The numbered events of each channel, of which the last are kept for clients that missed some. Numbers are consecutive. Those that
 * come from the heads or the log are equal on every explorer.
 */
export class Feed {
  readonly #rings: Readonly<Record<Stream, Ring>>
  readonly #send: (stream: Stream, event: KeptEvent) => void
  readonly #offer: FeedOffer | undefined

  /**
   * @param send sends an event to all subscribers.
   * @param offer sends an event that has no number in the log or the tables to the process that numbers them. Not set: they are
   * numbered here.
   */
  constructor(send: (stream: Stream, event: KeptEvent) => void, offer?: FeedOffer) {
    this.#send = send
    this.#offer = offer
    const rings = STREAMS.map((stream) => [stream.name, ringOf(stream)] as const)
    this.#rings = Object.fromEntries(rings) as Record<Stream, Ring>
  }

  lastOf(stream: Stream): number {
    return this.#rings[stream].last
  }

  /** Sets the number before the first event that this process publishes, and drops the events kept so far. */
  begin(stream: Stream, last: number): void {
    const ring = this.#rings[stream]
    ring.last = last
    ring.events = []
    wake(ring)
  }

  /** Publishes an event that has no number in the log or the tables. @param id identifies it among the events of all processes. */
  announce(channel: NumberedChannel, id: string, data: object): void {
    if (this.#offer === undefined) this.publish(channel, data)
    else this.#offer(channel, id, data)
  }

  /** Publishes an event unless it was published before. After a gap in the numbers, older events can no longer be replayed. */
  publish(stream: Stream, data: object, seq = this.lastOf(stream) + 1): void {
    const ring = this.#rings[stream]
    if (seq <= ring.last) return
    if (seq !== ring.last + 1) ring.events = []
    const event = { seq, data, text: JSON.stringify({ channel: ring.channel, data, seq }) }
    ring.last = seq
    ring.events.push(event)
    // Trimmed in steps: moving the whole array at each event would cost more than the surplus.
    if (ring.events.length > ring.maxEvents * 1.25) ring.events.splice(0, ring.events.length - ring.maxEvents)
    this.#send(stream, event)
    wake(ring)
  }

  /**
   * Returns the events after `since`, or undefined if some of them are not kept any more, or `since` is in the future.
   * @param most the maximum number of events; the oldest are returned.
   */
  missed(stream: Stream, since: number, most = Number.POSITIVE_INFINITY): readonly KeptEvent[] | undefined {
    const { last, events } = this.#rings[stream]
    const count = last - since
    if (count < 0 || count > events.length) return undefined
    const from = events.length - count
    return events.slice(from, from + most)
  }

  /**
   * Returns the messages of a sequence after `since`, or from now on, as the client takes them. Only the number of its last event is
   * stored: a client that is too slow for the events that are kept receives a resync, as after a gap. Ends when the signal aborts.
   */
  messages(
    stream: Stream,
    since: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<FeedMessage, void> {
    let position = since ?? this.lastOf(stream)
    const take = (): readonly FeedMessage[] => {
      const events = this.missed(stream, position, AT_ONCE)
      position = events === undefined ? this.lastOf(stream) : position + events.length
      return events ?? [{ seq: position, data: undefined }]
    }
    const changed = (): Promise<void> => this.#changed(stream, signal)
    return pulled({ take, changed }, signal, this.caughtUp(stream, position, signal))
  }

  /**
   * Returns undefined unless a client has received events that this process will publish in a moment: it was connected to another
   * process, which was a little faster. Resolves then when they have been published, after a while, or when the signal aborts. Numbers
   * that are larger by far are of an earlier run, or invented.
   */
  caughtUp(stream: Stream, since: number, signal: AbortSignal): Promise<void> | undefined {
    const ahead = since - this.lastOf(stream)
    if (ahead <= 0 || ahead > this.#rings[stream].maxEvents) return undefined
    // Not AbortSignal.any with AbortSignal.timeout: Node 20 may collect the timeout, which then never fires.
    const end = new AbortController()
    const stop = (): void => {
      end.abort()
    }
    const timer = setTimeout(stop, BEHIND_WAIT_MS)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    return this.reached(stream, since, end.signal).finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    })
  }

  /** Resolves when an event with this number or a higher one has been published, or when the signal aborts. */
  async reached(stream: Stream, seq: number, signal: AbortSignal): Promise<void> {
    while (this.lastOf(stream) < seq && !signal.aborted) await this.#changed(stream, signal)
  }

  /** The number of callers that wait for an event. */
  get waiting(): number {
    return Object.values(this.#rings).reduce((sum, { waiting }) => sum + waiting.size, 0)
  }

  /** Resolves at the next event, or when the signal aborts. */
  #changed(stream: Stream, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    const { waiting } = this.#rings[stream]
    return new Promise((resolve) => {
      const finish = (): void => {
        signal.removeEventListener('abort', finish)
        waiting.delete(finish)
        resolve()
      }
      signal.addEventListener('abort', finish)
      waiting.add(finish)
    })
  }
}

function ringOf({ channel, history, numbering }: StreamOf): Ring {
  // Larger than any number of an earlier run of this process, which sends far less than one event per millisecond.
  const last = numbering === 'log' ? 0 : Date.now()
  return { channel, maxEvents: history, last, events: [], waiting: new Set() }
}

function wake({ waiting }: Ring): void {
  for (const finish of waiting) finish()
}
