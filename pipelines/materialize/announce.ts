import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  Alert_Kind,
  CommittedEventSchema,
  type Heartbeat,
  type HeadRowSchema,
  type IndexStateSchema,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { displayBytes } from '../chain/hash.js'
import { lastHeartbeat } from '../log/heartbeat.js'
import { type EventLog, PARTITION } from '../log/port.js'
import type { ChainView } from '../tables/chain-view.js'
import type { Head } from '../tables/head.js'
import { LogShrank, PoisonEvent } from './poison.js'

type Index = MessageInitShape<typeof IndexStateSchema>

/** The number of past events of topic `node` to read at the start: the newest heartbeat is among the last few. */
const LOOK_BACK = 200
const CHUNK = 200
/** The number of blocks that a head connects and disconnects up to which its announcement contains them: some 3 kB. */
const MAX_CHANGES = 100

/**
 * Publishes the materializer's events in topic `committed`. Delivery: at least once, and heads after their row; receivers drop
 * duplicates by position.
 */
export class Announcer {
  #next: number | undefined
  #lastHeartbeatMs = 0n
  #nodeHeight: number | undefined
  #isDownloading = false

  constructor(private readonly log: EventLog) {}

  /** Publishes a head, which was written before. @param chain its blocks above the final height. */
  async head(head: Head, chain: Pick<ChainView, 'hashAt'>): Promise<void> {
    const tipHash = head.tipHash === '' ? Buffer.alloc(32) : displayBytes(head.tipHash)
    const lowestHeight = head.finalHeight + 1
    const lowest = chain.hashAt(lowestHeight)
    const lowestHash = lowest === undefined ? Buffer.alloc(0) : displayBytes(lowest)
    const value = { position: BigInt(head.position), tipHeight: Math.max(0, head.tipHeight), tipHash }
    const row = head.tipHeight >= 0 && changesOf(head) <= MAX_CHANGES ? { row: rowOf(head) } : {}
    await this.#publish({ case: 'head', value: { ...value, lowestHeight, lowestHash, ...row } })
  }

  /**
   * Publishes that the materializer has stopped, and why. Errors other than PoisonEvent and LogShrank count as defects.
   * @param index the state that the poller needs to repair the log; undefined if it cannot.
   * @param refusal the reason why the poller does not repair the log; empty for none.
   * @returns the alert's position in topic `committed`.
   */
  async alert(why: Error, index?: Index, refusal = ''): Promise<number> {
    const kind = why instanceof LogShrank ? Alert_Kind.LOG_SHRANK : Alert_Kind.DEFECT
    const value =
      why instanceof PoisonEvent
        ? { kind: Alert_Kind.POISON, topic: why.topic, position: BigInt(why.position), reason: why.reason }
        : { kind, topic: 'chain', position: -1n, reason: why.message }
    const reason = refusal === '' ? value.reason : `${value.reason}; not repaired: ${refusal}`
    const refused = refusal !== ''
    const fields = {
      partition: PARTITION,
      ...value,
      reason,
      refused,
      ...(index === undefined ? {} : { index }),
    }
    return this.#publish({ case: 'alert', value: fields })
  }

  /** Height of the node in the newest published heartbeat; undefined before the first. */
  get nodeHeight(): number | undefined {
    return this.#nodeHeight
  }

  /** Returns whether the node downloads its chain for the first time. */
  get isDownloading(): boolean {
    return this.#isDownloading
  }

  /** Publishes the newest heartbeat, unless it is published already. Thus heartbeats stop when the materializer stops. */
  async heartbeat(): Promise<void> {
    const heartbeat = await this.#newestHeartbeat()
    if (heartbeat === undefined || heartbeat.timeMs <= this.#lastHeartbeatMs) return
    const value = { heartbeat, appliedMs: BigInt(Date.now()) }
    await this.#publish({ case: 'heartbeat', value })
    this.#lastHeartbeatMs = heartbeat.timeMs
    this.#nodeHeight = heartbeat.nodeHeight
    this.#isDownloading = heartbeat.initialDownload
  }

  /** Starts over if topic `node` was replaced by a shorter one. Call it regularly. */
  async check(): Promise<void> {
    if (this.#next !== undefined && (await this.log.last('node')) + 1 < this.#next) this.#next = undefined
  }

  async #publish(
    event: NonNullable<MessageInitShape<typeof CommittedEventSchema>['event']>,
  ): Promise<number> {
    const value = toBinary(CommittedEventSchema, create(CommittedEventSchema, { event }))
    return this.log.append('committed', [value])
  }

  async #newestHeartbeat(): Promise<Heartbeat | undefined> {
    this.#next ??= Math.max(0, (await this.log.last('node')) - LOOK_BACK)
    let newest: Heartbeat | undefined
    for (;;) {
      const records = await this.log.read('node', this.#next, CHUNK)
      const last = records.at(-1)
      if (last === undefined) return newest
      this.#next = last.position + 1
      newest = lastHeartbeat(records) ?? newest
    }
  }
}

const changesOf = ({ connected, disconnected }: Head): number => connected.length + disconnected.length

function rowOf(head: Head): MessageInitShape<typeof HeadRowSchema> {
  return {
    chain: head.chain,
    epoch: head.epoch,
    sequence: head.sequence,
    writer: head.writer,
    reached: head.reached,
    previous: BigInt(head.previous),
    finalHeight: BigInt(head.finalHeight),
    disconnected: head.disconnected.map(displayBytes),
    connected: head.connected.map(displayBytes),
    blocksBefore: BigInt(head.blocksBefore),
    reorgsBefore: BigInt(head.reorgsBefore),
    writtenAtMs: BigInt(head.writtenAt),
  }
}
