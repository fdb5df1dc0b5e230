import type { ErrorCode } from '../../../../pipelines/errors.js'
import type { MetricSnapshot } from '../../../metrics/prometheus.js'
import type { NumberedChannel, PositionedStream } from '../../core/feed/streams.js'

/** The rate limits that the processes share. */
export type LimitName = 'requests' | 'pages' | 'broadcasts' | 'esplora' | 'electrum'

/** The numbers of the last events that are numbered by the log and the tables: how far a process has got. */
export type FeedPosition = Readonly<Record<PositionedStream, number>>

/** An event that a process has for the feed. */
export interface Offer {
  readonly channel: NumberedChannel
  /** Identifies the event: several processes offer it. Empty for a channel whose events are paced. */
  readonly id: string
  readonly data: object
  /** The position of the process with the event. Another process publishes it after it has got as far. */
  readonly after: FeedPosition
}

/** An event with its number: all processes use one number for an event. */
export interface NumberedEvent {
  readonly seq: number
  readonly channel: NumberedChannel
  readonly data: object
  readonly after: FeedPosition
}

/** The state of one process, as far as the other processes need it. */
export interface ProcessStatus {
  readonly isListening: boolean
  readonly wsClients: number
  /** The reason why the process cannot answer; absent while it can. */
  readonly failure?: { readonly error: string; readonly code: ErrorCode }
}

/** The state of all processes. */
export interface GroupStatus {
  /** The number of processes that listen and can answer. */
  readonly serving: number
  readonly wsClients: number
  /** The identifier of the process that counts events that all processes observe. */
  readonly first: number
  /** The failure of a process that listens. */
  readonly failure?: ProcessStatus['failure']
}

/** A message of a process to the primary. */
export type ToPrimary =
  | { readonly kind: 'hello' }
  | {
      readonly kind: 'wanted'
      readonly limit: LimitName
      readonly client: string
      readonly tokens: number
      /** The rest of the previous lease, which is returned. */
      readonly unused: { readonly tokens: number; readonly endsAt: number } | undefined
    }
  | { readonly kind: 'returned'; readonly id: number; readonly tokens: number }
  | { readonly kind: 'status'; readonly status: ProcessStatus }
  | { readonly kind: 'offer'; readonly offer: Offer }
  | { readonly kind: 'scrape'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly metrics: MetricSnapshot }

/** A message of the primary to a process. */
export type FromPrimary =
  | {
      readonly kind: 'welcome'
      readonly self: number
      /** The numbers before the first of `events`, or before the next event. */
      readonly begin: Readonly<Record<NumberedChannel, number>>
      readonly events: readonly NumberedEvent[]
    }
  | {
      readonly kind: 'lease'
      readonly limit: LimitName
      readonly client: string
      /** The cost of the requests that the process may admit; less than it wanted if these are the last tokens of the window. */
      readonly tokens: number
      /** The end of the window, by `monotonicMs`. */
      readonly endsAt: number
    }
  | {
      readonly kind: 'recall'
      readonly id: number
      readonly limit: LimitName
      readonly client: string
      readonly endsAt: number
    }
  | { readonly kind: 'group'; readonly group: GroupStatus }
  | { readonly kind: 'event'; readonly event: NumberedEvent }
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'scraped'; readonly id: number; readonly text: string; readonly type: string }
