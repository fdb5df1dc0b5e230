import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, KafkaClient } from './client.js'
import { type Lease, PARTITION } from '../port.js'
import type { Logger } from '../../logger.js'

/** The time without heartbeats after which another member takes over. By default brokers accept no less than 6 s. */
const SESSION_MS = 6_000
const HEARTBEAT_MS = 1_000
/** The interval at which the driver's fetch loop runs while there is nothing to fetch. */
const FETCH_WAIT_MS = 250
const RETRY_MS = 1_000

export interface LeaseParts {
  readonly client: KafkaClient
  readonly topic: string
  readonly group: string
  readonly logger: Logger
}

/**
 * A membership of a consumer group on a topic with one partition. The member that the partition is assigned to leads, all other
 * members stand by. It fetches nothing, because readers read by position: the group only elects the leader, and serves lag monitors.
 */
export class KafkaLease implements Lease {
  readonly isExclusive = true
  readonly #parts: LeaseParts
  readonly #consumer: Consumer
  readonly #lost = new AbortController()
  readonly #assigned: Promise<void>
  #ended: Promise<void> | undefined

  private constructor(parts: LeaseParts) {
    this.#parts = parts
    const { client, group, topic } = parts
    this.#consumer = client.kafka.consumer({
      groupId: group,
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: SESSION_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      // `take` replaces a member that failed with a new one.
      retry: { restartOnFailure: () => Promise.resolve(false) },
    })
    const { GROUP_JOIN, CRASH, STOP } = this.#consumer.events
    this.#assigned = new Promise((resolve) => {
      let leader: string | undefined
      this.#consumer.on(GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
        this.#consumer.pause([{ topic }])
        const assigned = (memberAssignment[topic] ?? []).length > 0
        // A new member id means that it had left the group, and another member may have led, even if it is elected again.
        if (leader !== undefined && !(assigned && memberId === leader)) this.#lose()
        if (!assigned) return
        leader ??= memberId
        resolve()
      })
      // During a rebalance the leader is unknown: the previous one continues, and the fence stops it if it should not.
      for (const event of [CRASH, STOP])
        this.#consumer.on(event, () => {
          this.#lose()
        })
    })
  }

  /** Joins the group, and resolves when this process leads. @throws the signal's reason when it aborts. */
  static async take(parts: LeaseParts, signal: AbortSignal): Promise<KafkaLease> {
    for (;;) {
      signal.throwIfAborted()
      const lease = new KafkaLease(parts)
      const end = AbortSignal.any([signal, lease.lost])
      try {
        await lease.#join(end)
        return lease
      } catch (error) {
        await lease.release()
        signal.throwIfAborted()
        parts.logger.warn({ err: error, group: parts.group }, 'cannot join the consumer group, retrying')
        await sleep(RETRY_MS, undefined, { signal })
      }
    }
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Commits the position of the group. Never rejects. */
  async commit(position: number): Promise<void> {
    const { topic, logger } = this.#parts
    // Kafka expects the offset of the next record to read.
    const offsets = [{ topic, partition: PARTITION, offset: String(position + 1) }]
    await this.#consumer.commitOffsets(offsets).catch((error: unknown) => {
      logger.debug({ err: error }, 'could not commit the offset for lag monitors')
    })
  }

  /** Leaves the group, so that another can lead at once. */
  release(): Promise<void> {
    this.#ended ??= this.#consumer.disconnect().catch(() => undefined)
    this.#lose()
    return this.#ended
  }

  async #join(end: AbortSignal): Promise<void> {
    const { topic } = this.#parts
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topic })
    await this.#consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() })
    if (!end.aborted) await Promise.race([this.#assigned, once(end, 'abort')])
    end.throwIfAborted()
  }

  #lose(): void {
    this.#lost.abort(new Error('lease lost'))
  }
}
