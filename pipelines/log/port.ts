/**
 * The event log as every stage sees it: topics of opaque bytes with consecutive positions.
 * Nothing above this port may know which adapter serves it, SQLite or Kafka.
 */
export const TOPICS = ['chain', 'node', 'committed', 'dead-letters'] as const
export type Topic = (typeof TOPICS)[number]
/** Topics have one partition, on Kafka: the order of events is the point of them. */
export const PARTITION = 0

export interface LogRecord {
  /** Consecutive within a topic, from 0. */
  readonly position: number
  /** Unix milliseconds at which it was appended. */
  readonly time: number
  readonly value: Uint8Array
}

export interface EventLog {
  /**
   * Appends a batch, whole or not at all, in order. Resolves when it would survive a power cut.
   * @returns the position of the last record of the batch.
   */
  append(topic: Topic, values: readonly Uint8Array[]): Promise<number>
  /**
   * Reads up to `limit` records and about `maxBytes` (at least one record), from `position` on; what retention has dropped is
   * skipped. Resolves with none when there is nothing yet.
   */
  read(topic: Topic, position: number, limit: number, maxBytes?: number): Promise<LogRecord[]>
  /** Position of the last record, -1 for an empty topic. */
  last(topic: Topic): Promise<number>
  /** Position of the first record still kept; last + 1 where none is. */
  first(topic: Topic): Promise<number>
  /** The position that a consumer last said it had finished (for lag monitors, never for truth), -1 for none. */
  committed(topic: Topic, consumer: string): Promise<number>
  /** Never rejects: it may be lost. */
  commit(topic: Topic, consumer: string, position: number): Promise<void>
  /** Resolves when there is a record at `position` or later, or after `timeoutMs`, or when the signal aborts (without throwing). */
  wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void>
  /**
   * Resolves when this process is the one that works as `consumer`; others wait for its lease to end. An order of work and no
   * lock: who was frozen learns late that its lease is lost, so what it writes must be fenced elsewhere.
   * @param signal gives up waiting, and then rejects with its reason.
   */
  lead(consumer: string, signal: AbortSignal): Promise<Lease>
  close(): Promise<void>
}

export interface Lease {
  /** False where the log knows of no others: then a second one takes over without being told to. */
  readonly isExclusive: boolean
  /** Aborts when another process may have it. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/** How long each topic is kept, in milliseconds. Blocks are kept for ever: they are the source of every replay. */
export const RETENTION_MS: Readonly<Record<Topic, number>> = {
  chain: Number.POSITIVE_INFINITY,
  node: 24 * 3_600_000,
  committed: 24 * 3_600_000,
  'dead-letters': Number.POSITIVE_INFINITY,
}
