import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, KafkaClient } from './client.js'
import { type Lease, PARTITION } from '../port.js'
import type { Logger } from '../../logger.js'

/** After so long without a sign of life another member takes over; brokers take no less than 6 s by default. */
const SESSION_MS = 6_000
const HEARTBEAT_MS = 1_000
/** How often the driver looks up while it has nothing to fetch. */
const LOOK_MS = 250
const RETRY_MS = 1_000

export interface LeaseParts {
  readonly client: KafkaClient
  readonly topic: string
  readonly group: string
  readonly logger: Logger
}

/**
 * Membership of a consumer group on a topic of one partition: the member that is assigned it leads, the others stand by. It
 * fetches nothing, for readers read by position; the group is what chooses, and what lag monitors look at.
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
      maxWaitTimeInMs: LOOK_MS,
      // A member that failed is replaced by a new one: see `take`.
      retry: { restartOnFailure: () => Promise.resolve(false) },
    })
    const { GROUP_JOIN, CRASH, STOP } = this.#consumer.events
    this.#assigned = new Promise((resolve) => {
      let leader: string | undefined
      this.#consumer.on(GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
        this.#consumer.pause([{ topic }])
        const assigned = (memberAssignment[topic] ?? []).length > 0
        // Under a new name it was out of the group meanwhile, and another may have led: so also where it is chosen again.
        if (leader !== undefined && !(assigned && memberId === leader)) this.#lose()
        if (!assigned) return
        leader ??= memberId
        resolve()
      })
      // While the group is shared out anew nobody knows who leads: the one that did goes on, and is fenced where it should not.
      for (const event of [CRASH, STOP])
        this.#consumer.on(event, () => {
          this.#lose()
        })
    })
  }

  /** Resolves when this process leads. @throws the signal's reason when it aborts. */
  static async take(parts: LeaseParts, signal: AbortSignal): Promise<KafkaLease> {
    for (;;) {
      signal.throwIfAborted()
      const lease = new KafkaLease(parts)
      const gone = AbortSignal.any([signal, lease.lost])
      try {
        await lease.#join(gone)
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

  /** Tells the brokers how far the group is. Never rejects. */
  async commit(position: number): Promise<void> {
    const { topic, logger } = this.#parts
    // Kafka's way: the offset of the next one to read.
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

  async #join(gone: AbortSignal): Promise<void> {
    const { topic } = this.#parts
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topic })
    await this.#consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() })
    if (!gone.aborted) await Promise.race([this.#assigned, once(gone, 'abort')])
    gone.throwIfAborted()
  }

  #lose(): void {
    this.#lost.abort(new Error('lease lost'))
  }
}
