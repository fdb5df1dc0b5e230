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

/** What a materializer that stands at damage has reported. */
export interface DamageReport {
  /** Of the alert in topic `committed`. */
  readonly alertPosition: number
  /** Of the invalid event in topic `chain`, -1 where the log lacks what was indexed. */
  readonly position: number
  readonly reason: string
  /** Empty for an index without blocks. */
  readonly genesisHash: string
  /** Hashes of consecutive blocks that index and log have in common, lowest first; the first is final. */
  readonly chain: readonly string[]
  readonly firstHeight: number
  /** Total work of the published tip, 64 hex digits; empty for none. */
  readonly work: string
  readonly headPosition: number
  readonly epoch: number
  /** Of the last valid event in topic `chain`, -1 where the log lacks what was indexed. */
  readonly goodPosition: number
  /** Up to here no epoch repairs the damage. */
  readonly seenPosition: number
  /** Set where blocks above this height are needed again. */
  readonly neededAbove: number | undefined
}

/** Events of topic `committed` that are looked back at: one that stands at damage reports it again and again. */
const LOOK_BACK = 500
/** Between repairs that have not brought the index any further: each writes the same blocks again. */
const REPAIR_BACKOFF = { firstMs: 1_000, mostMs: 3_600_000 }

/** Follows what the materializer reports in topic `committed`. */
export class DamageReports {
  readonly #log: EventLog
  #next: number | undefined
  #standing: DamageReport | undefined
  /** Of the newest alert that was answered. */
  #answered = -1
  readonly #now: () => number
  /** The last block that index and log had in common at the last repair, how often that one was repaired, and when it may be again. */
  #last = { tip: '', times: 0, notBefore: Number.NEGATIVE_INFINITY }

  /** @param now milliseconds that pass steadily. */
  constructor(log: EventLog, now: () => number) {
    this.#log = log
    this.#now = now
  }

  /**
   * Returns the newest report that nothing has answered: no head, no heartbeat, no epoch that resumes. One that stands where it
   * stood before the last repair has to wait, longer each time.
   */
  async standing(): Promise<DamageReport | undefined> {
    await this.#follow()
    const report = this.#standing
    if (report === undefined || report.alertPosition <= this.#answered) return undefined
    if (await this.#isRepaired(report)) {
      this.#answered = report.alertPosition
      return undefined
    }
    const { tip, notBefore } = this.#last
    return tipOf(report) === tip && this.#now() < notBefore ? undefined : report
  }

  /** Call when an epoch has been written for it. */
  answered(report: DamageReport): void {
    this.#answered = report.alertPosition
    const tip = tipOf(report)
    const times = tip === this.#last.tip ? this.#last.times + 1 : 1
    this.#last = { tip, times, notBefore: this.#now() + backoffMs(REPAIR_BACKOFF, times) }
  }

  /** Publishes why nothing is done about the report that stands. */
  async refuse(reason: string): Promise<void> {
    await this.#follow()
    const report = this.#standing
    if (report === undefined) return
    const value = { reason, alertPosition: BigInt(report.alertPosition) }
    const event = create(NodeEventSchema, { chainPosition: -1n, event: { case: 'repairRefused', value } })
    await this.#log.append('node', [toBinary(NodeEventSchema, event)])
  }

  async #follow(): Promise<void> {
    const last = await this.#log.last('committed')
    // The topic was made again.
    if (this.#next === undefined || this.#next > last + 1) {
      this.#next = Math.max(0, last - LOOK_BACK)
      this.#answered = -1
    }
    for await (const record of recordsOf(this.#log, 'committed', this.#next)) {
      const event = messageIn(CommittedEventSchema, record)?.event
      if (event?.case === 'alert') this.#standing = reportOf(record.position, event.value)
      else if (event?.case !== undefined) this.#standing = undefined
      this.#next = record.position + 1
    }
  }

  /** Whether an epoch that resumes was written after what the materializer had seen. */
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

/** Returns the head that was published last, as far as topic `committed` holds it. */
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
