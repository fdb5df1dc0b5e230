import type { KafkaClient } from './client.js'
import { type LogRecord, PARTITION } from '../port.js'

type Cluster = ReturnType<KafkaClient['cluster']>

/** The maximum size of the records that a fetch brings after waiting for the first of them. */
const WAIT_BYTES = 4 << 20
/** The longest wait of a fetch: less than the driver's request timeout. */
const LONGEST_WAIT_MS = 5_000
const OUT_OF_RANGE = 'OFFSET_OUT_OF_RANGE'

/** The offsets of the first record of a topic and of the next one to be appended. */
export interface Bounds {
  readonly first: number
  readonly end: number
}

/** Reads one topic by offset, over its own connections: a broker answers the requests of one connection one after another. */
export class KafkaReader {
  readonly #cluster: Cluster
  readonly #topic: string
  #connected: Promise<void> | undefined
  /** Records of the last fetch that were not read yet, the first at position `from`: brokers send whole batches only. */
  #window: { readonly from: number; readonly records: readonly LogRecord[] } = { from: 0, records: [] }
  #queue: Promise<unknown> = Promise.resolve()

  constructor(client: KafkaClient, topic: string) {
    this.#cluster = client.cluster()
    this.#topic = topic
  }

  /** Returns the records that exist from an offset on, in order. */
  read(position: number, limit: number, maxBytes: number): Promise<LogRecord[]> {
    return this.#inTurn(async () => {
      const records = this.#fromWindow(position, limit, maxBytes)
      if (records.length > 0) return records
      this.#window = { from: position, records: await this.#fetch(position, maxBytes, 0) }
      return this.#fromWindow(position, limit, maxBytes)
    })
  }

  /** Waits until a record at `position` or later is fetched, for up to `timeoutMs` (at most 5 s). */
  wait(position: number, timeoutMs: number): Promise<void> {
    return this.#inTurn(async () => {
      const { from, records } = this.#window
      if (position >= from && records.some((record) => record.position >= position)) return
      this.#window = {
        from: position,
        records: await this.#fetch(position, WAIT_BYTES, Math.min(timeoutMs, LONGEST_WAIT_MS)),
      }
    })
  }

  async bounds(): Promise<Bounds> {
    return this.#request(async () => {
      const partitions = [{ partition: PARTITION }]
      const [first, end] = await Promise.all(
        [true, false].map(async (fromBeginning) => {
          const [offsets] = await this.#cluster.fetchTopicsOffset([
            { topic: this.#topic, partitions, fromBeginning },
          ])
          const offset = offsets?.partitions[0]?.offset
          if (offset === undefined)
            throw new Error(`the brokers returned no metadata for topic ${this.#topic}`)
          return Number(offset)
        }),
      )
      return { first: first ?? 0, end: end ?? 0 }
    })
  }

  async close(): Promise<void> {
    await this.#cluster.disconnect()
  }

  #fromWindow(position: number, limit: number, maxBytes: number): LogRecord[] {
    if (position < this.#window.from) return []
    const start = this.#window.records.findIndex((record) => record.position >= position)
    if (start < 0) return []
    const records: LogRecord[] = []
    let bytes = 0
    for (const record of this.#window.records.slice(start, start + limit)) {
      records.push(record)
      bytes += record.value.length
      if (bytes >= maxBytes) break
    }
    const from = (records.at(-1)?.position ?? position - 1) + 1
    // Records are usually read once: records before the reader's position must not stay in memory.
    this.#window = { from, records: this.#window.records.slice(start + records.length) }
    return records
  }

  async #fetch(position: number, maxBytes: number, waitMs: number): Promise<LogRecord[]> {
    try {
      return await this.#fetchAt(position, maxBytes, waitMs)
    } catch (error) {
      if (!isOutOfRange(error)) throw error
      const { first, end } = await this.bounds()
      // Records before `first` were dropped by retention: skip them. Beyond the end there is nothing yet.
      if (position >= first || first >= end) return []
      return this.#fetchAt(first, maxBytes, 0)
    }
  }

  async #fetchAt(position: number, maxBytes: number, waitMs: number): Promise<LogRecord[]> {
    return this.#request(async () => {
      const leader = Object.keys(this.#cluster.findLeaderForPartitions(this.#topic, [PARTITION]))[0]
      if (leader === undefined) throw new Error(`no broker is the leader of topic ${this.#topic}`)
      const broker = await this.#cluster.findBroker({ nodeId: leader })
      const { responses } = await broker.fetch({
        maxWaitTime: waitMs,
        minBytes: 1,
        maxBytes,
        isolationLevel: 0,
        topics: [
          {
            topic: this.#topic,
            partitions: [{ partition: PARTITION, fetchOffset: String(position), maxBytes }],
          },
        ],
      })
      const messages = responses[0]?.partitions[0]?.messages ?? []
      return messages
        .filter(({ offset, isControlRecord }) => Number(offset) >= position && isControlRecord !== true)
        .map(({ offset, timestamp, value }) => ({
          position: Number(offset),
          time: Number(timestamp),
          value: value ?? new Uint8Array(),
        }))
    })
  }

  /** Sends requests, after connecting if necessary. Reconnects, and finds the leader of the topic again, after every failure. */
  async #request<T>(send: () => Promise<T>): Promise<T> {
    this.#connected ??= this.#connect()
    try {
      await this.#connected
      await this.#cluster.refreshMetadataIfNecessary()
      return await send()
    } catch (error) {
      if (!isOutOfRange(error)) await this.#forgetConnections()
      throw error
    }
  }

  async #connect(): Promise<void> {
    await this.#cluster.connect()
    await this.#cluster.addTargetTopic(this.#topic)
    await this.#cluster.refreshMetadata()
  }

  async #forgetConnections(): Promise<void> {
    this.#connected = undefined
    await this.#cluster.disconnect().catch(() => undefined)
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(action)
    this.#queue = done.catch(() => undefined)
    return done
  }
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === OUT_OF_RANGE
}
