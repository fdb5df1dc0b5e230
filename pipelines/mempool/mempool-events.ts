import {
  type Heartbeat,
  type NodeEvent,
  NodeEventSchema,
  type PoolEntry,
  type PoolLeft,
  type PoolLeft_Reason,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { hexOf } from '../chain/hash.js'
import type { Logger } from '../logger.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { batchesBack, messageIn, recordsOf } from '../log/records.js'
import { isAfter, type Written } from '../log/written.js'
import type { MempoolEntry } from './mempool-tx.js'

/** A change of the mempool. `E` is the form of its entries. */
export interface MempoolDelta<E = MempoolEntry> {
  /** Position of its event in topic `node`. */
  readonly position: number
  /** Time at which its event was appended to the log, in Unix milliseconds. */
  readonly time: number
  readonly entered: readonly E[]
  /** Transactions that left; `by` is the block that confirms it or the txid that replaced it, empty for none. */
  readonly left: readonly MempoolRemoval[]
  /** Transactions that entered and left, before `entered` and after `left`: they were seen only in a block. */
  readonly passed: readonly MempoolPassed[]
  /** Number of transactions that had ever entered before. */
  readonly enteredBefore: number
  /** Number of transactions that had ever left before. */
  readonly leftBefore: number
}

export interface MempoolRemoval {
  readonly txid: string
  readonly reason: PoolLeft_Reason
  readonly by: string
  /** Height of the block that confirms it. */
  readonly blockHeight: number | undefined
  /** Base units. */
  readonly fee: bigint
  readonly vsize: number
  /** Time at which the node first saw it, in Unix seconds; undefined if its event is of an earlier version. */
  readonly firstSeen: number | undefined
  /** Serialised with witnesses; empty if a block confirms it, or if its event is of an earlier version. */
  readonly raw: Buffer
  /** True if it, or an ancestor in the mempool, signalled that it may be replaced; undefined if it was not replaced. */
  readonly signalled: boolean | undefined
}

export interface MempoolPassed {
  readonly txid: string
  /** Base units. */
  readonly fee: bigint
  readonly vsize: number
  /** The block that confirms it. */
  readonly block: string
  readonly blockHeight: number
}

/** A complete mempool. */
export interface MempoolSnapshot<E = MempoolEntry> {
  readonly kind: 'snapshot'
  /** Position of topic `chain` at which the poller observed it. */
  readonly seenAt: number
  /** Position of its first part. */
  readonly position: number
  /** Time at which the first part was written, in Unix milliseconds. */
  readonly time: number
  readonly entries: readonly E[]
  readonly enteredBefore: number
  readonly leftBefore: number
}

/** A change that is applied to the mempool at once. `seenAt` is the position of topic `chain` at which the poller observed it. */
export type MempoolStep =
  | { readonly kind: 'deltas'; readonly seenAt: number; readonly deltas: readonly MempoolDelta[] }
  | MempoolSnapshot

/**
 * An event of topic `node` as the poller wrote it. `seenAt` is the position of topic `chain` at which the poller observed it. After a
 * heartbeat, the mempool is that of the events before it.
 */
export type NodeRecord<E = MempoolEntry> =
  | { readonly kind: 'delta'; readonly seenAt: number; readonly delta: MempoolDelta<E> }
  | {
      readonly kind: 'heartbeat'
      readonly seenAt: number
      /** Position in topic `node`. */
      readonly position: number
      /** Time at which it was appended to the log, in Unix milliseconds. */
      readonly time: number
      readonly heartbeat: Heartbeat
    }
  | MempoolSnapshot<E>

/** Reads the events of topic `node`, and drops events of superseded pollers and exact duplicates. */
export class MempoolEvents {
  readonly #log: EventLog
  readonly #logger: Logger
  #last: Written = { epoch: -1, sequence: -1n }
  /** An incomplete snapshot; its writer may have stopped before the end. */
  #snapshot: { readonly first: LogRecord; readonly parts: unknown[][] } | undefined

  /** The newest heartbeat among the records, undefined before the first. */
  heartbeat: Heartbeat | undefined

  constructor(log: EventLog, logger: Logger) {
    this.#log = log
    this.#logger = logger
  }

  /**
   * Returns the position at which a reader without state starts, and the current last position of the topic. A reader starts at the
   * first part of the last complete snapshot that was observed at or before `chainPosition` (with a later one the mempool would be
   * empty until the chain reaches it), or at the first event if there is none.
   */
  async findStart(chainPosition: number): Promise<{ from: number; last: number }> {
    const last = await this.#log.last('node')
    return { from: await this.#startBefore(last, chainPosition), last }
  }

  /**
   * Returns the position of the first part of the last complete snapshot that ends at or before a position, or of the first event
   * if there is none.
   */
  async snapshotBefore(position: number): Promise<number> {
    return this.#startBefore(position, Number.MAX_SAFE_INTEGER)
  }

  async #startBefore(position: number, chainPosition: number): Promise<number> {
    const first = await this.#log.first('node')
    const keep = (record: LogRecord): Positioned | undefined => {
      const event = this.#decode(record)
      return event && { position: record.position, event }
    }
    for await (const events of batchesBack(this.#log, 'node', position, keep)) {
      const start = newestStart(events, chainPosition)
      if (start !== undefined) return Math.max(start, first)
    }
    return first
  }

  /**
   * Returns the last deltas before a position, in order: at least all deltas since the previous snapshot, or as many as `most`
   * transactions have entered in.
   */
  async deltasBefore(position: number, most: number): Promise<MempoolDelta[]> {
    const batches: LogRecord[][] = []
    let entered = 0
    let hasSnapshot = false
    const keep = (record: LogRecord): LogRecord | undefined => {
      const event = this.#decode(record)?.event
      if (event?.case === 'poolDelta') entered += event.value.entered.length
      if (event?.case !== 'poolSnapshot') return record
      // The last part shows which of the events after it are of a superseded poller. The others may be large.
      const isLast = event.value.part + 1 === event.value.parts
      hasSnapshot ||= isLast
      return isLast ? record : undefined
    }
    for await (const batch of batchesBack(this.#log, 'node', position - 1, keep)) {
      batches.unshift(batch)
      if (hasSnapshot || entered >= most) break
    }
    const steps = new MempoolEvents(this.#log, this.#logger).steps(batches.flat())
    return steps.flatMap((step) => (step.kind === 'deltas' ? step.deltas : []))
  }

  /** Yields the last complete snapshot in the log and the deltas after it, up to the current end. */
  async *stored(): AsyncGenerator<MempoolStep> {
    const { from, last } = await this.findStart(Number.MAX_SAFE_INTEGER)
    for await (const record of recordsOf(this.#log, 'node', from, last)) yield* this.steps([record])
  }

  /**
   * Returns the changes of the mempool by these records, in order. Deltas that were observed at the same position of the chain are
   * one step: the poller splits large deltas, and a part of one would be an inconsistent mempool.
   */
  steps(records: readonly LogRecord[]): MempoolStep[] {
    const steps: MempoolStep[] = []
    for (const each of this.events(records)) {
      if (each.kind === 'heartbeat') continue
      if (each.kind === 'snapshot') {
        steps.push(each)
        continue
      }
      const { seenAt, delta } = each
      const before = steps.at(-1)
      if (before?.kind === 'deltas' && before.seenAt === seenAt)
        steps[steps.length - 1] = { ...before, deltas: [...before.deltas, delta] }
      else steps.push({ kind: 'deltas', seenAt, deltas: [delta] })
    }
    return steps
  }

  /** Yields the events in these records, in order; a snapshot at its last part. */
  events(records: readonly LogRecord[]): Generator<NodeRecord> {
    return this.eventsWith(records, entryOf)
  }

  /**
   * Yields the events in these records as `events` does, with entries in another form: those of a whole snapshot are in memory at once.
   * @param form the same function for all records; returns undefined for entries to leave out.
   */
  *eventsWith<E>(
    records: readonly LogRecord[],
    form: (entry: PoolEntry) => E | undefined,
  ): Generator<NodeRecord<E>> {
    for (const record of records) {
      const event = this.#decode(record)
      if (event === undefined || !this.#isNew(event)) continue
      const seenAt = Number(event.chainPosition)
      const { event: kind } = event
      const { position, time } = record
      if (kind.case === 'heartbeat') {
        this.heartbeat = kind.value
        yield { kind: 'heartbeat', seenAt, position, time, heartbeat: kind.value }
      }
      if (kind.case === 'poolSnapshot') {
        const { part, parts, entries, enteredBefore, leftBefore } = kind.value
        if (part === 0) this.#snapshot = { first: record, parts: [] }
        const snapshot = this.#snapshot
        if (snapshot?.parts.length === part) snapshot.parts.push(formed(entries, form))
        if (snapshot?.parts.length !== parts) continue
        const { first } = snapshot
        const counts = { enteredBefore: Number(enteredBefore), leftBefore: Number(leftBefore) }
        const content = { entries: snapshot.parts.flat() as E[], ...counts }
        this.#snapshot = undefined
        yield { kind: 'snapshot', seenAt, position: first.position, time: first.time, ...content }
      }
      if (kind.case === 'poolDelta') {
        const { entered, left, passed, enteredBefore, leftBefore } = kind.value
        const delta = {
          position,
          time,
          entered: formed(entered, form),
          left: left.map(removalOf),
          passed: passed.map(({ txid, fee, vsize, block, blockHeight }) => {
            return { txid: hexOf(txid), fee, vsize, block: hexOf(block), blockHeight }
          }),
          enteredBefore: Number(enteredBefore),
          leftBefore: Number(leftBefore),
        }
        yield { kind: 'delta', seenAt, delta }
      }
    }
  }

  #isNew(event: NodeEvent): boolean {
    if (!isAfter(event, this.#last)) return false
    if (event.epoch !== this.#last.epoch) this.#snapshot = undefined
    this.#last = { epoch: event.epoch, sequence: event.sequence }
    return true
  }

  /** Returns the event of a record, undefined for invalid bytes: the next snapshot corrects the mempool. */
  #decode(record: LogRecord): NodeEvent | undefined {
    return messageIn(NodeEventSchema, record, { logger: this.#logger, topic: 'node' })
  }
}

/** Converts an entry of an event. The bytes are copied, because a view would keep the record in memory. */
function entryOf({ txid, raw, fee, firstSeen }: PoolEntry): MempoolEntry {
  return { txid: hexOf(txid), raw: Buffer.from(raw), fee, firstSeen }
}

const formed = <E>(entries: readonly PoolEntry[], form: (entry: PoolEntry) => E | undefined): E[] =>
  entries.map(form).filter((entry) => entry !== undefined)

/** Converts a removal of an event. The bytes are copied as in `entryOf`. */
function removalOf({ txid, reason, by, raw, ...rest }: PoolLeft): MempoolRemoval {
  const { blockHeight, fee, vsize, firstSeen, signalled } = rest
  const figures = { blockHeight, fee, vsize, firstSeen, signalled }
  return { txid: hexOf(txid), reason, by: hexOf(by), raw: Buffer.from(raw), ...figures }
}

interface Positioned {
  readonly position: number
  readonly event: NodeEvent
}

/** Returns the start by the newest event. The last event need not be the newest: it may be a retry, or of a superseded poller. */
function newestStart(events: readonly Positioned[], chainPosition: number): number | undefined {
  let newest: NodeEvent | undefined
  let start: number | undefined
  for (const { position, event } of events) {
    const isLater = Number(event.chainPosition) > chainPosition
    const snapshotStart = isLater ? undefined : snapshotPosition(position, event)
    if (snapshotStart === undefined || (newest !== undefined && !isAfter(event, newest))) continue
    newest = event
    start = snapshotStart
  }
  return start
}

/** Returns the position of the first part of the last complete snapshot, if an event contains it. */
function snapshotPosition(position: number, { event }: NodeEvent): number | undefined {
  if (event.case === 'poolDelta') return Number(event.value.snapshotPosition)
  if (event.case !== 'poolSnapshot' || event.value.part + 1 < event.value.parts) return undefined
  return position - event.value.part
}
