/*
 * The interface of the event log: topics of opaque bytes with consecutive positions. Code above it must not depend on the
 * adapter, SQLite or Kafka.
 */

export const TOPICS = ['chain', 'node', 'committed', 'dead-letters'] as const
export type Topic = (typeof TOPICS)[number]
/** The only partition of each topic on Kafka: Kafka orders events within a partition only. */
export const PARTITION = 0

export interface LogRecord {
  /** Consecutive within a topic, from 0. */
  readonly position: number
  /** The time at which the record was appended, in Unix milliseconds. */
  readonly time: number
  readonly value: Uint8Array
}

export interface EventLog {
  /**
   * Appends a batch atomically and in order. Resolves when it is durable, even across a power failure.
   * @returns the position of the last record of the batch.
   */
  append(topic: Topic, values: readonly Uint8Array[]): Promise<number>
  /**
   * Reads up to `limit` records and about `maxBytes` (at least one record), starting at `position`. Skips records that retention
   * has dropped. Resolves with an empty list if there are no records yet.
   */
  read(topic: Topic, position: number, limit: number, maxBytes?: number): Promise<LogRecord[]>
  /** Returns the position of the last record, -1 for an empty topic. */
  last(topic: Topic): Promise<number>
  /** Returns the position of the first retained record; last + 1 if there is none. */
  first(topic: Topic): Promise<number>
  /** Drops the records before a position, but not the last one. Readers that are behind skip them. */
  drop(topic: Topic, before: number): Promise<void>
  /** Returns the position that a consumer committed last, -1 for none. It may be outdated: use it only to monitor lag. */
  committed(topic: Topic, consumer: string): Promise<number>
  /** Commits the position of a consumer. Never rejects: a commit may be lost. */
  commit(topic: Topic, consumer: string, position: number): Promise<void>
  /** Waits for a record at `position` or later. Also resolves after `timeoutMs`, and when the signal aborts. */
  wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void>
  /**
   * Resolves when this process is the active one of `consumer`; other processes wait until its lease ends. A lease is not a lock:
   * a process that was frozen notices late that its lease is lost, so its writes must be fenced elsewhere.
   * @param signal ends the wait; the promise then rejects with the signal's reason.
   */
  lead(consumer: string, signal: AbortSignal): Promise<Lease>
  close(): Promise<void>
}

export interface Lease {
  /** True if the log lets other processes wait. If not, a process that starts later takes over by itself. */
  readonly isExclusive: boolean
  /** Aborts when another process may hold the lease. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/**
 * The retention of each topic in milliseconds. Blocks are retained indefinitely, because they are the source of every replay, unless
 * `LOG_BLOCKS` limits their number.
 */
export const RETENTION_MS: Readonly<Record<Topic, number>> = {
  chain: Number.POSITIVE_INFINITY,
  node: 24 * 3_600_000,
  committed: 24 * 3_600_000,
  'dead-letters': Number.POSITIVE_INFINITY,
}
