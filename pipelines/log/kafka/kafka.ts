import { once } from 'node:events'
import type { Logger } from '../../logger.js'
import { type Admin, type KafkaAccess, KafkaClient } from './client.js'
import { KafkaLease } from './lease.js'
import { type Bounds, KafkaReader } from './reader.js'
import { ensureTopics } from './topics.js'
import { KafkaWriter } from './writer.js'
import { type EventLog, type Lease, type LogRecord, PARTITION, type Topic } from '../port.js'

const DEFAULT_READ_BYTES = 16 << 20

export interface KafkaLogOptions extends KafkaAccess {
  /** The prefix of the names of topics and groups. */
  readonly prefix: string
  readonly logger: Logger
}

/**
 * Returns the log on Kafka. Connects at the first call; while brokers are unreachable each call fails, and the next one tries
 * again. Positions are Kafka's offsets: they are consecutive, because each topic has one partition and neither transactions nor
 * compaction.
 */
export function openKafkaLog(options: KafkaLogOptions): EventLog {
  return new KafkaLog(options)
}

class KafkaLog implements EventLog {
  readonly #options: KafkaLogOptions
  readonly #client: KafkaClient
  readonly #admin: Admin
  readonly #writer: KafkaWriter
  readonly #readers = new Map<Topic, KafkaReader>()
  readonly #leases = new Map<string, KafkaLease>()
  #ready: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: KafkaLogOptions) {
    this.#options = options
    this.#client = new KafkaClient(options, options.logger)
    this.#admin = this.#client.kafka.admin()
    this.#writer = new KafkaWriter(this.#client)
  }

  async append(topic: Topic, values: readonly Uint8Array[]): Promise<number> {
    if (values.length === 0) return this.last(topic)
    await this.#ensureReady()
    return this.#writer.append(this.#nameOf(topic), values)
  }

  async read(
    topic: Topic,
    position: number,
    limit: number,
    maxBytes = DEFAULT_READ_BYTES,
  ): Promise<LogRecord[]> {
    if (limit <= 0) return []
    return (await this.#reader(topic)).read(Math.max(0, position), limit, maxBytes)
  }

  async last(topic: Topic): Promise<number> {
    return (await this.#bounds(topic)).end - 1
  }

  async first(topic: Topic): Promise<number> {
    return (await this.#bounds(topic)).first
  }

  async drop(topic: Topic, before: number): Promise<void> {
    await this.#ensureReady()
    const name = this.#nameOf(topic)
    // The driver knows the leader of the topic only after this.
    const [bounds] = await this.#admin.fetchTopicOffsets(name)
    const offset = Math.min(before, Number(bounds?.high ?? 0) - 1)
    if (offset <= Number(bounds?.low ?? 0)) return
    const partitions = [{ partition: PARTITION, offset: String(offset) }]
    await this.#admin.deleteTopicRecords({ topic: name, partitions })
  }

  async committed(topic: Topic, consumer: string): Promise<number> {
    await this.#ensureReady()
    const name = this.#nameOf(topic)
    const [offsets] = await this.#admin.fetchOffsets({ groupId: this.#groupOf(consumer), topics: [name] })
    const offset = Number(offsets?.partitions[0]?.offset ?? -1)
    return offset < 0 ? -1 : offset - 1
  }

  async commit(topic: Topic, consumer: string, position: number): Promise<void> {
    if (topic === 'chain') await this.#leases.get(consumer)?.commit(position)
  }

  async wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return
    const waited = this.#reader(topic).then((reader) => reader.wait(position, timeoutMs))
    if (signal === undefined) return waited
    const over = new AbortController()
    try {
      await Promise.race([waited, once(signal, 'abort', { signal: over.signal })])
    } finally {
      over.abort()
    }
  }

  async lead(consumer: string, signal: AbortSignal): Promise<Lease> {
    await this.#ensureReady()
    const { logger } = this.#options
    const topic = this.#nameOf('chain')
    const parts = { client: this.#client, topic, group: this.#groupOf(consumer), logger }
    const lease = await KafkaLease.take(parts, signal)
    this.#leases.set(consumer, lease)
    return lease
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await Promise.all([...this.#leases.values()].map((lease) => lease.release()))
      const readers = [...this.#readers.values()]
      await Promise.all([...readers.map((reader) => reader.close()), this.#writer.close()])
      await this.#admin.disconnect()
    })()
    return this.#closed
  }

  #nameOf(topic: Topic): string {
    return `${this.#options.prefix}.${topic}`
  }

  #groupOf(consumer: string): string {
    return `${this.#options.prefix}.${consumer}`
  }

  async #bounds(topic: Topic): Promise<Bounds> {
    return (await this.#reader(topic)).bounds()
  }

  async #reader(topic: Topic): Promise<KafkaReader> {
    await this.#ensureReady()
    const cached = this.#readers.get(topic)
    if (cached !== undefined) return cached
    const reader = new KafkaReader(this.#client, this.#nameOf(topic))
    this.#readers.set(topic, reader)
    return reader
  }

  #ensureReady(): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new Error('the log is closed'))
    this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  async #prepare(): Promise<void> {
    await this.#admin.connect()
    await ensureTopics(this.#admin, (topic) => this.#nameOf(topic))
  }
}
