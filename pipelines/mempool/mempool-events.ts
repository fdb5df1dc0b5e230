import { fromBinary } from '@bufbuild/protobuf'
import {
  type Heartbeat,
  type NodeEvent,
  NodeEventSchema,
  type PoolDelta,
  type PoolEntry,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { Logger } from '../logger.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { isAfter } from '../log/written.js'

/** What changes the pool in one turn. */
export type PoolStep =
  | { readonly kind: 'deltas'; readonly seenAt: number; readonly deltas: readonly PoolDelta[] }
  | {
      readonly kind: 'snapshot'
      readonly seenAt: number
      /** Of its first part. */
      readonly position: number
      /** Unix milliseconds at which that was written. */
      readonly time: number
      readonly entries: readonly PoolEntry[]
      readonly enteredBefore: number
    }

const READ_AT_ONCE = 256

/** Sorts out the events of topic `node`: what an older poller wrote and exact duplicates are dropped. */
export class PoolEvents {
  readonly #log: EventLog
  readonly #logger: Logger
  #epoch = -1
  #sequence = -1n
  /** A snapshot that is not whole yet; its writer may have been stopped within it. */
  #snapshot: { readonly first: LogRecord; readonly parts: PoolEntry[][] } | undefined

  /** The last one that was among the records. */
  heartbeat: Heartbeat | undefined

  constructor(log: EventLog, logger: Logger) {
    this.#log = log
    this.#logger = logger
  }

  /**
   * Where a reader begins who holds nothing: the first part of the last whole snapshot that was seen beside the chain up to
   * `chainPosition` (a later one would leave the pool empty until the chain gets there), and where the topic ends now.
   */
  async findStart(chainPosition: number): Promise<{ from: number; last: number }> {
    const [first, last] = await Promise.all([this.#log.first('node'), this.#log.last('node')])
    for (let end = last + 1; end > first; end -= READ_AT_ONCE) {
      const from = Math.max(first, end - READ_AT_ONCE)
      const start = newestStart(await this.#span(from, end), chainPosition)
      if (start !== undefined) return { from: Math.max(start, first), last }
    }
    return { from: first, last }
  }

  /**
   * What these records do to the pool, in order. Deltas that were seen beside the same chain are one step: the poller cuts
   * large ones, and half of one is no pool.
   */
  steps(records: readonly LogRecord[]): PoolStep[] {
    const steps: PoolStep[] = []
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
        if (snapshot?.parts.length === part) snapshot.parts.push(entries)
        if (snapshot?.parts.length !== parts) continue
        const { position, time } = snapshot.first
        const told = { entries: snapshot.parts.flat(), enteredBefore: Number(enteredBefore) }
        steps.push({ kind: 'snapshot', seenAt, position, time, ...told })
        this.#snapshot = undefined
      }
      if (kind.case !== 'poolDelta') continue
      const before = steps.at(-1)
      if (before?.kind === 'deltas' && before.seenAt === seenAt)
        steps[steps.length - 1] = { ...before, deltas: [...before.deltas, kind.value] }
      else steps.push({ kind: 'deltas', seenAt, deltas: [kind.value] })
    }
    return steps
  }

  #isNew({ epoch, sequence }: NodeEvent): boolean {
    if (epoch < this.#epoch || (epoch === this.#epoch && sequence <= this.#sequence)) return false
    if (epoch !== this.#epoch) this.#snapshot = undefined
    this.#epoch = epoch
    this.#sequence = sequence
    return true
  }

  /** What cannot be read is left out: the next snapshot heals it. */
  #decode({ position, value }: LogRecord): NodeEvent | undefined {
    try {
      return fromBinary(NodeEventSchema, value)
    } catch (error) {
      this.#logger.error({ err: error, topic: 'node', position }, 'an event that cannot be decoded')
      return undefined
    }
  }

  async #span(from: number, end: number): Promise<{ position: number; event: NodeEvent }[]> {
    const found: { position: number; event: NodeEvent }[] = []
    for (let next = from; next < end;) {
      const records = await this.#log.read('node', next, end - next)
      const last = records.at(-1)
      if (last === undefined) break
      for (const record of records) {
        const event = record.position < end ? this.#decode(record) : undefined
        if (event !== undefined) found.push({ position: record.position, event })
      }
      next = last.position + 1
    }
    return found
  }
}

/** Told by the newest event that was written: the last of the log may be a retry, or of a superseded poller. */
function newestStart(
  events: readonly { readonly position: number; readonly event: NodeEvent }[],
  chainPosition: number,
): number | undefined {
  let newest: NodeEvent | undefined
  let start: number | undefined
  for (const { position, event } of events) {
    const told = Number(event.chainPosition) > chainPosition ? undefined : snapshotPosition(position, event)
    if (told === undefined || (newest !== undefined && !isAfter(event, newest))) continue
    newest = event
    start = told
  }
  return start
}

function snapshotPosition(position: number, { event }: NodeEvent): number | undefined {
  if (event.case === 'poolDelta') return Number(event.value.snapshotPosition)
  if (event.case !== 'poolSnapshot' || event.value.part + 1 < event.value.parts) return undefined
  return position - event.value.part
}
