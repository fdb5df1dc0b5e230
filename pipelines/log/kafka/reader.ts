import type { KafkaClient } from './client.js'
import { type LogRecord, PARTITION } from '../port.js'

type Cluster = ReturnType<KafkaClient['cluster']>

/** What a reader that waited for one event is given with it. */
const WAIT_BYTES = 4 << 20
/** Less than the driver gives a request. */
const LONGEST_WAIT_MS = 5_000
const OUT_OF_RANGE = 'OFFSET_OUT_OF_RANGE'

/** Where a topic begins and ends: the offset of its first record and the one that the next will have. */
export interface Bounds {
  readonly first: number
  readonly end: number
}

/** Reads one topic, by offset, over connections of its own: a broker answers those of one connection one after the other. */
export class KafkaReader {
  readonly #cluster: Cluster
  readonly #topic: string
  #connected: Promise<void> | undefined
  /** What the last fetch brought and nobody has read yet, for the broker sends a batch whole: all from `from` on. */
  #window: { readonly from: number; readonly records: readonly LogRecord[] } = { from: 0, records: [] }
  #pen: Promise<unknown> = Promise.resolve()

  constructor(client: KafkaClient, topic: string) {
    this.#cluster = client.cluster()
    this.#topic = topic
  }

  /** Records from an offset on, in order: those that are there. */
  read(position: number, limit: number, maxBytes: number): Promise<LogRecord[]> {
    return this.#inTurn(async () => {
      const held = this.#fromWindow(position, limit, maxBytes)
      if (held.length > 0) return held
      this.#window = { from: position, records: await this.#fetch(position, maxBytes, 0) }
      return this.#fromWindow(position, limit, maxBytes)
    })
  }

  /** Resolves when there is a record at `position` or later, which then is here already, or after `timeoutMs` (5 s at most). */
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
    return this.#asking(async () => {
      const partitions = [{ partition: PARTITION }]
      const [first, end] = await Promise.all(
        [true, false].map(async (fromBeginning) => {
          const [found] = await this.#cluster.fetchTopicsOffset([
            { topic: this.#topic, partitions, fromBeginning },
          ])
          const offset = found?.partitions[0]?.offset
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
    // Read once, as a rule: what is behind the reader must not stay in memory.
    this.#window = { from, records: this.#window.records.slice(start + records.length) }
    return records
  }

  async #fetch(position: number, maxBytes: number, waitMs: number): Promise<LogRecord[]> {
    try {
      return await this.#fetchAt(position, maxBytes, waitMs)
    } catch (error) {
      if (!isOutOfRange(error)) throw error
      const { first, end } = await this.bounds()
      // Before what retention has left: skipped. Beyond the end: nothing yet.
      if (position >= first || first >= end) return []
      return this.#fetchAt(first, maxBytes, 0)
    }
  }

  async #fetchAt(position: number, maxBytes: number, waitMs: number): Promise<LogRecord[]> {
    return this.#asking(async () => {
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

  /** Connects where that is still to be done, and looks for the topic's leader again after whatever went wrong. */
  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    this.#connected ??= this.#connect()
    try {
      await this.#connected
      await this.#cluster.refreshMetadataIfNecessary()
      return await ask()
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
    const done = this.#pen.then(action)
    this.#pen = done.catch(() => undefined)
    return done
  }
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === OUT_OF_RANGE
}
