import { LRUCache } from 'lru-cache'
import type { Numbering, Once, Paced } from '../../core/feed/channel.js'
import { NUMBERED, type NumberedChannel, type PositionedStream } from '../../core/feed/streams.js'
import type { NumberedEvent, Offer } from './messages.js'

/** Timers of the processes may fire this much early. */
const EARLY_MS = 100

/** Returns whether an event gets a number: several processes offer each event. */
type Choice = (offer: Offer) => boolean

interface Numbered {
  readonly isChosen: Choice
  /** The number of past events to keep. */
  readonly most: number
  last: number
  readonly events: NumberedEvent[]
}

/**
 * Numbers the events that several processes offer, as their channels declare: each identifier once, or one for each event of
 * another channel and otherwise at most one per interval. Keeps the last ones for processes that start later, so that a client can
 * continue on any of them.
 */
export class FeedNumbers {
  readonly #channels: Readonly<Record<NumberedChannel, Numbered>>

  /**
   * @param begin the number before the first event: higher than all of an earlier run.
   * @param now a monotonic clock in milliseconds.
   */
  constructor(begin: number, now: () => number) {
    this.#channels = ofEach(({ numbering, history }) => {
      return { isChosen: choiceOf(numbering, now), most: history, last: begin, events: [] }
    })
  }

  /** Numbers an event. @returns undefined if another process has offered it before. */
  number(offer: Offer): NumberedEvent | undefined {
    const { channel, data, after } = offer
    const numbered = this.#channels[channel]
    if (!numbered.isChosen(offer)) return undefined
    const event = { seq: ++numbered.last, channel, data, after }
    numbered.events.push(event)
    if (numbered.events.length > numbered.most) numbered.events.shift()
    return event
  }

  /** The events that are kept, in order within each channel. */
  get events(): NumberedEvent[] {
    return NUMBERED.flatMap(({ name }) => this.#channels[name].events)
  }

  /** The numbers before the first events that are kept. */
  get begin(): Record<NumberedChannel, number> {
    return ofEach(({ name }) => this.#channels[name].last - this.#channels[name].events.length)
  }
}

function ofEach<V>(valueOf: (channel: (typeof NUMBERED)[number]) => V): Record<NumberedChannel, V> {
  return Object.fromEntries(NUMBERED.map((channel) => [channel.name, valueOf(channel)])) as Record<
    NumberedChannel,
    V
  >
}

const choiceOf = (numbering: Exclude<Numbering, 'log'>, now: () => number): Choice =>
  'everyMs' in numbering ? paced(numbering, now) : once(numbering)

function once({ remembered }: Once): Choice {
  const before = new LRUCache<string, true>({ max: remembered })
  return ({ id }) => {
    if (before.has(id)) return false
    before.set(id, true)
    return true
  }
}

function paced({ after: channel, everyMs }: Paced, now: () => number): Choice {
  let [lastMs, lastAfter] = [Number.NEGATIVE_INFINITY, -1]
  return ({ after }) => {
    const [nowMs, position] = [now(), after[channel as PositionedStream]]
    if (position <= lastAfter && nowMs - lastMs < everyMs - EARLY_MS) return false
    lastAfter = Math.max(position, lastAfter)
    lastMs = nowMs
    return true
  }
}
