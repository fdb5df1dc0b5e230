import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  Alert_Kind,
  CommittedEventSchema,
  type Heartbeat,
  type IndexStateSchema,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { displayBytes } from '../chain/hash.js'
import { lastHeartbeat } from '../log/heartbeat.js'
import { type EventLog, PARTITION } from '../log/port.js'
import type { ChainView } from '../tables/chain-view.js'
import { LogShrank, PoisonEvent } from './poison.js'

type Index = MessageInitShape<typeof IndexStateSchema>

/** Events of topic `node` looked back at on start: the newest heartbeat is among the last few. */
const LOOK_BACK = 200
const CHUNK = 200

/**
 * What the materializer tells in topic `committed`. Delivery: at least once, heads after their row; receivers drop what
 * they know by position.
 */
export class Announcer {
  #next: number | undefined
  #lastHeartbeatMs = 0n
  #nodeHeight: number | undefined

  constructor(private readonly log: EventLog) {}

  /** Publishes that a view's head was written. */
  async head(view: ChainView): Promise<void> {
    const { head } = view
    const tipHash = head.tipHash === '' ? Buffer.alloc(32) : displayBytes(head.tipHash)
    const lowestHeight = head.finalHeight + 1
    const lowest = view.hashAt(lowestHeight)
    const lowestHash = lowest === undefined ? Buffer.alloc(0) : displayBytes(lowest)
    const value = { position: BigInt(head.position), tipHeight: Math.max(0, head.tipHeight), tipHash }
    await this.#publish({ case: 'head', value: { ...value, lowestHeight, lowestHash } })
  }

  /**
   * Publishes that the materializer stands still, and why; what is neither a poison event nor a log that shrank is a defect of ours.
   * @param index what the poller needs to know to repair the log; left out where it cannot.
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

  /** Height of the node in the newest heartbeat that was passed on, undefined before any. */
  get nodeHeight(): number | undefined {
    return this.#nodeHeight
  }

  /** Passes the newest heartbeat on, if there is one that was not passed on yet: so it stops when the fold does. */
  async heartbeat(): Promise<void> {
    const heartbeat = await this.#newestHeartbeat()
    if (heartbeat === undefined || heartbeat.timeMs <= this.#lastHeartbeatMs) return
    const value = { heartbeat, appliedMs: BigInt(Date.now()) }
    await this.#publish({ case: 'heartbeat', value })
    this.#lastHeartbeatMs = heartbeat.timeMs
    this.#nodeHeight = heartbeat.nodeHeight
  }

  /** Begins again where topic `node` was replaced by one that ends before what was read. Call now and then. */
  async lookRound(): Promise<void> {
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
