import { MetricSet, type MetricSnapshot } from '../../../metrics/prometheus.js'
import { MINUTE_MS } from '../../../access/rate-limit.js'
import { CombinedMetrics } from './combined-metrics.js'
import { FeedNumbers } from './feed-numbers.js'
import { Leases } from './leases.js'
import type { FromPrimary, GroupStatus, LimitName, ProcessStatus, ToPrimary } from './messages.js'

/** A process of the explorer, as the primary sees it. */
export interface Process {
  /** The identifier, higher than the identifiers of all earlier processes. */
  readonly id: number
  readonly send: (message: FromPrimary) => void
}

export interface CoordinatorOptions {
  /** Requests per client and minute. */
  readonly limits: Readonly<Record<LimitName, number>>
  /** Returns the time in milliseconds, by a clock that all processes share. */
  readonly now: () => number
  /** The number before the first event of the feed that the primary numbers. */
  readonly feedBegin: number
  /** Called if metrics cannot be combined. */
  readonly onDefect: (error: unknown) => void
}

/** The maximum wait for the reply of one process: a frozen process must not keep the other processes waiting. */
const REPLY_MS = 500

interface Pending<T> {
  readonly from: Process
  readonly resolve: (value: T | undefined) => void
}

/** The replies of processes that the primary waits for. */
class Replies<T> {
  readonly #pending = new Map<number, Pending<T>>()
  #next = 0

  /** Sends a request. @returns the reply; undefined if the process exits or is too slow. */
  request(to: Process, message: (id: number) => FromPrimary): Promise<T | undefined> {
    const id = this.#next++
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.resolve(id, undefined)
      }, REPLY_MS)
      const finish = (value: T | undefined): void => {
        clearTimeout(timer)
        resolve(value)
      }
      this.#pending.set(id, { from: to, resolve: finish })
      to.send(message(id))
    })
  }

  resolve(id: number, value: T | undefined): void {
    this.#pending.get(id)?.resolve(value)
    this.#pending.delete(id)
  }

  exited(process: Process): void {
    for (const [id, { from }] of this.#pending) if (from === process) this.resolve(id, undefined)
  }
}

/** The part of the primary that the processes of an explorer share: rate limit, numbers of the feed, metrics, and their states. */
export class Coordinator {
  readonly #leases: Readonly<Record<LimitName, Leases<Process>>>
  readonly #numbers: FeedNumbers
  readonly #metrics = new CombinedMetrics<Process>()
  readonly #own = new MetricSet('headwater_')
  readonly #recalls = new Replies<number>()
  readonly #collections = new Replies<MetricSnapshot>()
  /** The processes that have said hello, in the order of their start, with their last states. */
  readonly #statuses = new Map<Process, ProcessStatus>()
  readonly #onDefect: CoordinatorOptions['onDefect']
  #group = ''
  #scrape: Promise<{ text: string; type: string }> | undefined

  constructor({ limits, now, feedBegin, onDefect }: CoordinatorOptions) {
    this.#onDefect = onDefect
    this.#numbers = new FeedNumbers(feedBegin, now)
    const leases = (limit: LimitName): Leases<Process> =>
      new Leases({
        most: limits[limit],
        windowMs: MINUTE_MS,
        now,
        recall: async (holder, client, endsAt) => {
          if (!this.#statuses.has(holder)) return 0
          const recall = (id: number) => ({ kind: 'recall', id, limit, client, endsAt }) as const
          return (await this.#recalls.request(holder, recall)) ?? 0
        },
      })
    this.#leases = {
      requests: leases('requests'),
      pages: leases('pages'),
      broadcasts: leases('broadcasts'),
      esplora: leases('esplora'),
      electrum: leases('electrum'),
    }
  }

  /** Handles a message of a process. */
  receive(message: ToPrimary, from: Process): void {
    switch (message.kind) {
      case 'hello':
        this.#statuses.set(from, { isListening: false, wsClients: 0 })
        from.send({
          kind: 'welcome',
          self: from.id,
          begin: this.#numbers.begin,
          events: this.#numbers.events,
        })
        this.#group = ''
        this.#publishGroup()
        return
      case 'wanted': {
        const { limit, client, tokens, unused } = message
        void this.#leases[limit].lease(client, tokens, from, unused).then((lease) => {
          from.send({ kind: 'lease', limit, client, ...lease })
        })
        return
      }
      case 'returned':
        this.#recalls.resolve(message.id, message.tokens)
        return
      case 'status':
        this.#statuses.set(from, message.status)
        this.#publishGroup()
        return
      case 'offer': {
        const event = this.#numbers.number(message.offer)
        if (event !== undefined)
          for (const process of this.#statuses.keys()) process.send({ kind: 'event', event })
        return
      }
      case 'scrape': {
        const { id } = message
        this.#scraped().then(({ text, type }) => {
          from.send({ kind: 'scraped', id, text, type })
        }, this.#onDefect)
        return
      }
      case 'metrics':
        this.#metrics.read(from, message.metrics)
        this.#collections.resolve(message.id, message.metrics)
    }
  }

  /** Handles the exit of a process. */
  exited(process: Process): void {
    this.#statuses.delete(process)
    this.#metrics.exited(process)
    this.#recalls.exited(process)
    this.#collections.exited(process)
    this.#publishGroup()
  }

  close(): void {
    this.#own.close()
  }

  /** Sends the state of all processes to each of them if it has changed. */
  #publishGroup(): void {
    const listening = [...this.#statuses].filter(([, { isListening }]) => isListening)
    const failure = listening.find(([, status]) => status.failure !== undefined)?.[1].failure
    const group: GroupStatus = {
      serving: listening.filter(([, status]) => status.failure === undefined).length,
      wsClients: listening.reduce((sum, [, { wsClients }]) => sum + wsClients, 0),
      first: listening[0]?.[0].id ?? [...this.#statuses.keys()][0]?.id ?? 0,
      ...(failure === undefined ? {} : { failure }),
    }
    const text = JSON.stringify(group)
    if (text === this.#group) return
    this.#group = text
    for (const process of this.#statuses.keys()) process.send({ kind: 'group', group })
  }

  /** Returns the metrics of all processes; concurrent requests share one collection. */
  #scraped(): Promise<{ text: string; type: string }> {
    this.#scrape ??= this.#collect().finally(() => {
      this.#scrape = undefined
    })
    return this.#scrape
  }

  /** Reads the metrics of the processes that listen: the figures of a starting process would only distort the minima. */
  async #collect(): Promise<{ text: string; type: string }> {
    const listening = [...this.#statuses].filter(([, { isListening }]) => isListening)
    await Promise.all(
      listening.map(([process]) => this.#collections.request(process, (id) => ({ kind: 'collect', id }))),
    )
    return this.#metrics.text(await this.#own.snapshot())
  }
}
