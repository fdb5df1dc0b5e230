import type { Logger } from '../../../../pipelines/logger.js'
import type { MetricSnapshot } from '../../../metrics/prometheus.js'
import { type Limiter, MINUTE_MS } from '../../../access/rate-limit.js'
import type { Feed, FeedOffer } from '../../core/feed/feed.js'
import { POSITIONED } from '../../core/feed/streams.js'
import type { Health } from '../../core/health/health.js'
import { monotonicMs } from './clock.js'
import { LeasedLimit } from './leased-limit.js'
import type {
  FeedPosition,
  FromPrimary,
  GroupStatus,
  LimitName,
  ProcessStatus,
  ToPrimary,
} from './messages.js'
import { NumberedFeed } from './numbered-feed.js'

export interface MemberOptions {
  /** The number of processes that the explorer consists of. */
  readonly size: number
  readonly send: (message: ToPrimary) => void
  readonly logger: Logger
  /** Aborted when the process must stop. */
  readonly signal: AbortSignal
}

export interface MemberParts {
  readonly feed: Feed
  readonly metrics: { snapshot(): Promise<MetricSnapshot> }
}

/** The maximum wait for the metrics of all processes. */
const SCRAPE_MS = 2_000

type Text = Awaited<ReturnType<MetricsText>>
type MetricsText = () => Promise<{ text: string; type: string }>

/** One of several processes of an explorer, and the state that it shares with the other processes through the primary. */
export class Member {
  readonly size: number
  readonly signal: AbortSignal
  readonly #options: MemberOptions
  readonly #scrapes = new Map<number, (text: Text) => void>()
  #nextScrape = 0
  readonly #limits = new Map<LimitName, LeasedLimit>()
  #parts: MemberParts | undefined
  #numbered: NumberedFeed | undefined
  #welcomed: () => void = () => undefined
  #self = 0
  #status: ProcessStatus = { isListening: false, wsClients: 0 }
  #group: GroupStatus = { serving: 0, wsClients: 0, first: 0 }

  constructor(options: MemberOptions) {
    this.#options = options
    this.size = options.size
    this.signal = options.signal
  }

  /** Joins the other processes. Resolves when the numbers of the feed continue the numbers of the other processes. */
  join(parts: MemberParts): Promise<void> {
    this.#parts = parts
    this.#numbered = new NumberedFeed(parts.feed, this.signal)
    this.#options.send({ kind: 'hello' })
    return new Promise((resolve) => {
      this.#welcomed = resolve
      this.signal.addEventListener('abort', () => {
        resolve()
      })
    })
  }

  /** Returns a rate limit that all processes share. */
  limit(name: LimitName, most: number, trustedHops: number): Limiter {
    const { send, logger } = this.#options
    const limit = new LeasedLimit({
      name,
      most,
      trustedHops,
      windowMs: MINUTE_MS,
      now: monotonicMs,
      want: (client, tokens, unused) => {
        send({ kind: 'wanted', limit: name, client, tokens, unused })
      },
      onSilence: () => {
        logger.warn({ limit: name, most }, 'the primary does not answer, rate limits count per process')
      },
    })
    this.#limits.set(name, limit)
    return limit
  }

  /** Offers an event to the feed of all processes, at the end of the turn: its position then includes what the turn published. */
  readonly offer: FeedOffer = (channel, id, data) => {
    queueMicrotask(() => {
      const { feed } = this.#parts ?? {}
      if (feed === undefined) return
      const numbers = POSITIONED.map((each) => [each, feed.lastOf(each)] as const)
      const after = Object.fromEntries(numbers) as FeedPosition
      this.#options.send({ kind: 'offer', offer: { channel, id, data, after } })
    })
  }

  /** True in the one process that counts events that all processes observe. */
  get isFirst(): boolean {
    return this.#group.first === this.#self
  }

  /** True while another process can answer. */
  get isServedByOthers(): boolean {
    return this.#group.serving > (this.#isServing ? 1 : 0)
  }

  get #isServing(): boolean {
    return this.#status.isListening && this.#status.failure === undefined
  }

  /** Reports the state of this process to the other processes if it has changed. */
  report({ status, error, code, wsClients }: Health, isListening: boolean): void {
    if (this.#parts === undefined) return
    const isFailing = status !== 'ok' && error !== undefined && code !== undefined
    const own = { isListening, wsClients, ...(isFailing ? { failure: { error, code } } : {}) }
    if (JSON.stringify(own) === JSON.stringify(this.#status)) return
    this.#status = own
    this.#options.send({ kind: 'status', status: own })
  }

  /** Returns the health of all processes: degraded if any that listens is, because a part of the requests reaches it. */
  healthOf(own: Health): Health {
    const { serving, wsClients, failure } = this.#group
    const failed = own.status === 'ok' && failure !== undefined
    return {
      ...own,
      ...(failed ? { status: 'degraded', ...failure } : {}),
      wsClients: Math.max(own.wsClients, wsClients - this.#status.wsClients + own.wsClients),
      processes: { configured: this.size, serving },
    }
  }

  /** Returns the metrics of all processes. @throws if the primary does not answer. */
  metricsText: MetricsText = () => {
    const id = this.#nextScrape++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#scrapes.delete(id)
        reject(new Error('the primary did not return the metrics of all processes'))
      }, SCRAPE_MS)
      this.#scrapes.set(id, (text) => {
        clearTimeout(timer)
        resolve(text)
      })
      this.#options.send({ kind: 'scrape', id })
    })
  }

  /** Handles a message of the primary. */
  receive(message: FromPrimary): void {
    const { send } = this.#options
    switch (message.kind) {
      case 'welcome':
        this.#self = message.self
        this.#numbered?.begin(message)
        this.#welcomed()
        return
      case 'lease':
        this.#limits.get(message.limit)?.receive(message.client, message)
        return
      case 'recall': {
        const { id, limit, client, endsAt } = message
        send({ kind: 'returned', id, tokens: this.#limits.get(limit)?.giveUp(client, endsAt) ?? 0 })
        return
      }
      case 'group':
        this.#group = message.group
        return
      case 'event':
        this.#numbered?.receive(message.event)
        return
      case 'collect':
        this.#parts?.metrics.snapshot().then(
          (metrics) => {
            send({ kind: 'metrics', id: message.id, metrics })
          },
          (error: unknown) => {
            this.#options.logger.error({ err: error }, 'cannot collect metrics')
          },
        )
        return
      case 'scraped':
        this.#scrapes.get(message.id)?.(message)
        this.#scrapes.delete(message.id)
    }
  }
}
