import type { Feed } from '../../core/feed/feed.js'
import { NUMBERED, POSITIONED } from '../../core/feed/streams.js'
import type { FromPrimary, NumberedEvent } from './messages.js'

/**
 * Publishes the events that the primary has numbered, in the order of the primary. An event is published when this process has got as
 * far as the process that offered the event: from then on its answers contain the event.
 */
export class NumberedFeed {
  readonly #feed: Feed
  readonly #signal: AbortSignal
  #last: Promise<void> = Promise.resolve()

  constructor(feed: Feed, signal: AbortSignal) {
    this.#feed = feed
    this.#signal = signal
  }

  /** Continues the numbers of the primary with the events that it has kept. */
  begin({ begin, events }: Extract<FromPrimary, { kind: 'welcome' }>): void {
    for (const { name } of NUMBERED) this.#feed.begin(name, begin[name])
    for (const event of events) this.receive(event)
  }

  receive(event: NumberedEvent): void {
    this.#last = this.#last.then(() => this.#publish(event))
  }

  async #publish({ seq, channel, data, after }: NumberedEvent): Promise<void> {
    for (const each of POSITIONED) await this.#feed.reached(each, after[each], this.#signal)
    if (!this.#signal.aborted) this.#feed.publish(channel, data, seq)
  }
}
