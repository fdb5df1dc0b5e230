import { create, toBinary } from '@bufbuild/protobuf'
import {
  type CommittedEvent,
  CommittedEventSchema,
  type HeadCommitted,
  NodeEventSchema,
} from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { hexOf } from '../../chain/hash.js'
import type { EventLog, LogRecord } from '../../log/port.js'
import { batchesBack, messageIn, recordsOf } from '../../log/records.js'
import { backoffMs } from '../../node/backoff.js'
import { forwards, noteOf } from '../chain/chain-log.js'

/** A report of a materializer about damage in the log. */
export interface DamageReport {
  /** The position of the alert in topic `committed`. */
  readonly alertPosition: number
  /** The position of the invalid event in topic `chain`, -1 if the log lacks events that were indexed. */
  readonly position: number
  readonly reason: string
  /** Empty for an index without blocks. */
  readonly genesisHash: string
  /** Hashes of consecutive blocks that index and log share, lowest first; the first one is final. */
  readonly chain: readonly string[]
  readonly firstHeight: number
  /** Total work of the published tip, 64 hex digits; empty for none. */
  readonly work: string
  readonly headPosition: number
  readonly epoch: number
  /** The position of the last valid event in topic `chain`, -1 if the log lacks events that were indexed. */
  readonly goodPosition: number
  /** The position up to which no epoch repairs the damage. */
  readonly seenPosition: number
  /** The height above which blocks are needed again; undefined if none are. */
  readonly neededAbove: number | undefined
}

/** The number of past events of topic `committed` to read at the start. A materializer repeats its report. */
const LOOK_BACK = 500
/** Pauses between repairs that did not help the index: each one writes the same blocks again. */
const REPAIR_BACKOFF = { firstMs: 1_000, maxMs: 3_600_000 }

/** Follows the reports of the materializer in topic `committed`. */
export class DamageReports {
  readonly #log: EventLog
  #next: number | undefined
  #latest: DamageReport | undefined
  /** The position of the newest alert that was answered. */
  #answered = -1
  readonly #now: () => number
  /**
   * The last block shared at the last repair, the number of repairs from it, and the time before which it is not repaired
   * again.
   */
  #last = { tip: '', times: 0, notBefore: Number.NEGATIVE_INFINITY }

  /** @param now returns milliseconds of a monotonic clock. */
  constructor(log: EventLog, now: () => number) {
    this.#log = log
    this.#now = now
  }

  /**
   * Returns the newest report, unless a head, a heartbeat or an epoch that resumes came after it. A report of damage that the last
   * repair was to heal is held back, longer each time.
   */
  async unanswered(): Promise<DamageReport | undefined> {
    await this.#follow()
    const report = this.#latest
    if (report === undefined || report.alertPosition <= this.#answered) return undefined
    if (await this.#isRepaired(report)) {
      this.#answered = report.alertPosition
      return undefined
    }
    const { tip, notBefore } = this.#last
    return tipOf(report) === tip && this.#now() < notBefore ? undefined : report
  }

  /** Notes that an epoch was written for a report. */
  answered(report: DamageReport): void {
    this.#answered = report.alertPosition
    const tip = tipOf(report)
    const times = tip === this.#last.tip ? this.#last.times + 1 : 1
    this.#last = { tip, times, notBefore: this.#now() + backoffMs(REPAIR_BACKOFF, times) }
  }

  /** Publishes why the reported damage is not repaired. */
  async refuse(reason: string): Promise<void> {
    await this.#follow()
    const report = this.#latest
    if (report === undefined) return
    const value = { reason, alertPosition: BigInt(report.alertPosition) }
    const event = create(NodeEventSchema, { chainPosition: -1n, event: { case: 'repairRefused', value } })
    await this.#log.append('node', [toBinary(NodeEventSchema, event)])
  }

  async #follow(): Promise<void> {
    const last = await this.#log.last('committed')
    // The topic was created again.
    if (this.#next === undefined || this.#next > last + 1) {
      this.#next = Math.max(0, last - LOOK_BACK)
      this.#answered = -1
    }
    for await (const record of recordsOf(this.#log, 'committed', this.#next)) {
      const event = messageIn(CommittedEventSchema, record)?.event
      if (event?.case === 'alert') this.#latest = reportOf(record.position, event.value)
      else if (event?.case !== undefined) this.#latest = undefined
      this.#next = record.position + 1
    }
  }

  /** Returns whether the log contains an epoch that resumes, after the events that the materializer had read. */
  async #isRepaired({ seenPosition }: DamageReport): Promise<boolean> {
    const last = await this.#log.last('chain')
    for await (const { position, event } of forwards(this.#log, seenPosition + 1, last, undefined)) {
      const note = noteOf(position, event)
      if (note.kind === 'epoch' && note.resume !== undefined) return true
    }
    return false
  }
}

const tipOf = ({ chain }: DamageReport): string => chain.at(-1) ?? ''

/** Returns the head that was published last, undefined if topic `committed` no longer contains it. */
export async function newestHead(log: EventLog): Promise<HeadCommitted | undefined> {
  const keep = (record: LogRecord): HeadCommitted | undefined => {
    const event = messageIn(CommittedEventSchema, record)?.event
    return event?.case === 'head' ? event.value : undefined
  }
  for await (const heads of batchesBack(log, 'committed', await log.last('committed'), keep))
    if (heads.length > 0) return heads.at(-1)
  return undefined
}

function reportOf(
  alertPosition: number,
  { position, reason, index }: Extract<CommittedEvent['event'], { case: 'alert' }>['value'],
): DamageReport | undefined {
  if (index === undefined) return undefined
  return {
    alertPosition,
    position: Number(position),
    reason,
    genesisHash: hexOf(index.genesisHash),
    chain: index.chain.map(hexOf),
    firstHeight: index.firstHeight,
    work: hexOf(index.work),
    headPosition: Number(index.headPosition),
    epoch: index.epoch,
    goodPosition: Number(index.goodPosition),
    seenPosition: Number(index.seenPosition),
    neededAbove: index.neededAbove === undefined ? undefined : Number(index.neededAbove),
  }
}
