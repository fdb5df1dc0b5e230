import {
  type Heartbeat,
  type NodeEvent,
  NodeEventSchema,
  type PoolEntry,
  type PoolLeft_Reason,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { hexOf } from '../chain/hash.js'
import type { Logger } from '../logger.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { batchesBack, messageIn, recordsOf } from '../log/records.js'
import { isAfter, type Written } from '../log/written.js'
import type { MempoolEntry } from './mempool-tx.js'

export interface MempoolDelta {
  readonly entered: readonly MempoolEntry[]
  /** With the block or the transaction that each left for; empty for none. */
  readonly left: readonly { readonly txid: string; readonly reason: PoolLeft_Reason; readonly by: string }[]
  /** How many had ever entered before. */
  readonly enteredBefore: number
}

/** What changes the mempool in one turn. */
export type MempoolStep =
  | { readonly kind: 'deltas'; readonly seenAt: number; readonly deltas: readonly MempoolDelta[] }
  | {
      readonly kind: 'snapshot'
      readonly seenAt: number
      /** Of its first part. */
      readonly position: number
      /** Unix milliseconds at which that was written. */
      readonly time: number
      readonly entries: readonly MempoolEntry[]
      readonly enteredBefore: number
    }

/** Sorts out the events of topic `node`: what an older poller wrote and exact duplicates are dropped. */
export class MempoolEvents {
  readonly #log: EventLog
  readonly #logger: Logger
  #last: Written = { epoch: -1, sequence: -1n }
  /** A snapshot that is not whole yet; its writer may have been stopped within it. */
  #snapshot: { readonly first: LogRecord; readonly parts: MempoolEntry[][] } | undefined

  /** The last one that was among the records. */
  heartbeat: Heartbeat | undefined

  constructor(log: EventLog, logger: Logger) {
    this.#log = log
    this.#logger = logger
  }

  /**
   * Where a reader begins who holds nothing: the first part of the last whole snapshot that was seen beside the chain up to
   * `chainPosition` (a later one would leave the mempool empty until the chain gets there), and where the topic ends now.
   */
  async findStart(chainPosition: number): Promise<{ from: number; last: number }> {
    const [first, last] = await Promise.all([this.#log.first('node'), this.#log.last('node')])
    const keep = (record: LogRecord): Positioned | undefined => {
      const event = this.#decode(record)
      return event && { position: record.position, event }
    }
    for await (const events of batchesBack(this.#log, 'node', last, keep)) {
      const start = newestStart(events, chainPosition)
      if (start !== undefined) return { from: Math.max(start, first), last }
    }
    return { from: first, last }
  }

  /** Reads what the log holds now: its last whole snapshot and what came after it. */
  async *stored(): AsyncGenerator<MempoolStep> {
    const { from, last } = await this.findStart(Number.MAX_SAFE_INTEGER)
    for await (const record of recordsOf(this.#log, 'node', from, last)) yield* this.steps([record])
  }

  /**
   * What these records do to the mempool, in order. Deltas that were seen beside the same chain are one step: the poller cuts
   * large ones, and half of one is no mempool.
   */
  steps(records: readonly LogRecord[]): MempoolStep[] {
    const steps: MempoolStep[] = []
    for (const record of records) {
      const event = this.#decode(record)
      if (event === undefined || !this.#isNew(event)) continue
      const seenAt = Number(event.chainPosition)
      const { event: kind } = event
      if (kind.case === 'heartbeat') this.heartbeat = kind.value
      if (kind.case === 'poolSnapshot') {
        const { part, parts, entries, enteredBefore } = kind.value
        if (part === 0) this.#snapshot = { first: record, parts: [] }
        const snapshot = this.#snapshot
        if (snapshot?.parts.length === part) snapshot.parts.push(entries.map(entryOf))
        if (snapshot?.parts.length !== parts) continue
        const { position, time } = snapshot.first
        const whole = { entries: snapshot.parts.flat(), enteredBefore: Number(enteredBefore) }
        steps.push({ kind: 'snapshot', seenAt, position, time, ...whole })
        this.#snapshot = undefined
      }
      if (kind.case !== 'poolDelta') continue
      const delta = {
        entered: kind.value.entered.map(entryOf),
        left: kind.value.left.map(({ txid, reason, by }) => ({ txid: hexOf(txid), reason, by: hexOf(by) })),
        enteredBefore: Number(kind.value.enteredBefore),
      }
      const before = steps.at(-1)
      if (before?.kind === 'deltas' && before.seenAt === seenAt)
        steps[steps.length - 1] = { ...before, deltas: [...before.deltas, delta] }
      else steps.push({ kind: 'deltas', seenAt, deltas: [delta] })
    }
    return steps
  }

  #isNew(event: NodeEvent): boolean {
    if (!isAfter(event, this.#last)) return false
    if (event.epoch !== this.#last.epoch) this.#snapshot = undefined
    this.#last = { epoch: event.epoch, sequence: event.sequence }
    return true
  }

  /** What cannot be read is left out: the next snapshot heals it. */
  #decode(record: LogRecord): NodeEvent | undefined {
    return messageIn(NodeEventSchema, record, { logger: this.#logger, topic: 'node' })
  }
}

/** The bytes are copied: a view would keep the whole record in memory. */
function entryOf({ txid, raw, fee, firstSeen }: PoolEntry): MempoolEntry {
  return { txid: hexOf(txid), raw: Buffer.from(raw), fee, firstSeen }
}

interface Positioned {
  readonly position: number
  readonly event: NodeEvent
}

/** Told by the newest event that was written: the last of the log may be a retry, or of a superseded poller. */
function newestStart(events: readonly Positioned[], chainPosition: number): number | undefined {
  let newest: NodeEvent | undefined
  let start: number | undefined
  for (const { position, event } of events) {
    const isLater = Number(event.chainPosition) > chainPosition
    const found = isLater ? undefined : snapshotPosition(position, event)
    if (found === undefined || (newest !== undefined && !isAfter(event, newest))) continue
    newest = event
    start = found
  }
  return start
}

function snapshotPosition(position: number, { event }: NodeEvent): number | undefined {
  if (event.case === 'poolDelta') return Number(event.value.snapshotPosition)
  if (event.case !== 'poolSnapshot' || event.value.part + 1 < event.value.parts) return undefined
  return position - event.value.part
}
