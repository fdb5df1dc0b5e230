import { LRUCache } from 'lru-cache'
import { KEPT, MAX_ALERTS, STATS_EVERY_MS } from '../../core/feed/feed.js'
import { NUMBERED_CHANNELS, type NumberedChannel, type NumberedEvent, type Offer } from './messages.js'

/** Timers of the processes may fire this much early. */
const EARLY_MS = 100

interface Numbered {
  last: number
  kept: NumberedEvent[]
}

/**
 * Numbers the events that several processes offer: each whale alert once, and stats once per head and otherwise at most once per
 * interval. Keeps the last ones for processes that start later, so that a client can continue on any of them.
 */
export class FeedNumbers {
  readonly #now: () => number
  readonly #channels: Readonly<Record<NumberedChannel, Numbered>>
  readonly #alerts = new LRUCache<string, true>({ max: MAX_ALERTS })
  #statsAt = Number.NEGATIVE_INFINITY
  #statsAfterBlock = -1

  /**
   * @param begin the number before the first event: higher than all of an earlier run.
   * @param now a monotonic clock in milliseconds.
   */
  constructor(begin: number, now: () => number) {
    this.#now = now
    this.#channels = { 'whale-alerts': { last: begin, kept: [] }, stats: { last: begin, kept: [] } }
  }

  /** Numbers an event. @returns undefined if another process has offered it before. */
  number({ channel, id, data, after }: Offer): NumberedEvent | undefined {
    if (channel === 'stats' ? !this.#isDue(after.blocks) : this.#alerts.has(id)) return undefined
    if (channel === 'whale-alerts') this.#alerts.set(id, true)
    const numbered = this.#channels[channel]
    const event = { seq: ++numbered.last, channel, data, after }
    numbered.kept.push(event)
    if (numbered.kept.length > KEPT[channel]) numbered.kept.shift()
    return event
  }

  /** The events that are kept, in order within each channel. */
  get kept(): NumberedEvent[] {
    return NUMBERED_CHANNELS.flatMap((channel) => this.#channels[channel].kept)
  }

  /** The numbers before the first events that are kept. */
  get begin(): Record<NumberedChannel, number> {
    const before = ({ last, kept }: Numbered): number => last - kept.length
    return { 'whale-alerts': before(this.#channels['whale-alerts']), stats: before(this.#channels.stats) }
  }

  #isDue(block: number): boolean {
    const now = this.#now()
    if (block <= this.#statsAfterBlock && now - this.#statsAt < STATS_EVERY_MS - EARLY_MS) return false
    this.#statsAfterBlock = Math.max(block, this.#statsAfterBlock)
    this.#statsAt = now
    return true
  }
}
