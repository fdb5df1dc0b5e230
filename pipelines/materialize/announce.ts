import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  CommittedEventSchema,
  type Heartbeat,
  NodeEventSchema,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { displayBytes } from '../chain/hash.js'
import type { EventLog } from '../log/port.js'
import type { Head } from '../tables/head.js'

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

  constructor(private readonly log: EventLog) {}

  async head(head: Head): Promise<void> {
    const tipHash = head.tipHash === '' ? Buffer.alloc(32) : displayBytes(head.tipHash)
    const value = { position: BigInt(head.position), tipHeight: Math.max(0, head.tipHeight), tipHash }
    const event = create(CommittedEventSchema, { event: { case: 'head', value } })
    await this.log.append('committed', [toBinary(CommittedEventSchema, event)])
  }

  /** Passes the newest heartbeat on, if there is one that was not passed on yet: so it stops when the fold does. */
  async heartbeat(): Promise<void> {
    const heartbeat = await this.#newestHeartbeat()
    if (heartbeat === undefined || heartbeat.timeMs <= this.#lastHeartbeatMs) return
    const value = { heartbeat, appliedMs: BigInt(Date.now()) }
    const event = create(CommittedEventSchema, { event: { case: 'heartbeat', value } })
    await this.log.append('committed', [toBinary(CommittedEventSchema, event)])
    this.#lastHeartbeatMs = heartbeat.timeMs
  }

  async #newestHeartbeat(): Promise<Heartbeat | undefined> {
    this.#next ??= Math.max(0, (await this.log.last('node')) - LOOK_BACK)
    let newest: Heartbeat | undefined
    for (;;) {
      const records = await this.log.read('node', this.#next, CHUNK)
      const last = records.at(-1)
      if (last === undefined) return newest
      this.#next = last.position + 1
      for (const { value } of records) {
        const { event } = fromBinary(NodeEventSchema, value)
        if (event.case === 'heartbeat') newest = event.value
      }
    }
  }
}
