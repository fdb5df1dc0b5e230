import { setTimeout as sleep } from 'node:timers/promises'
import { Environment, type Store, type Stores } from './lmdb-environment.js'
import { RETENTION_MS, type EventLog, type Lease, type LogRecord, type Topic } from './port.js'

/** How often `wait` looks. A look is a few microseconds, so this is latency and not load. */
const WAIT_STEP_MS = 15
/** What `read` gives at most where the caller does not say. */
const DEFAULT_READ_BYTES = 16 * 2 ** 20
/** Of each append, beyond twice the batch: so a backlog of expired records shrinks, and no append takes long. */
const DROP_PER_APPEND = 16
/** Each value is preceded by the time at which it was appended, unix milliseconds, big endian. */
const TIME_BYTES = 8

export interface LmdbLogOptions {
  /** Instead of RETENTION_MS. */
  readonly retentionMs?: Partial<Record<Topic, number>>
  /** Unix milliseconds; the clock of the tests. */
  readonly now?: () => number
}

/**
 * Opens (and creates) the embedded log in a folder. Any number of processes may have it open.
 * @throws where the folder cannot be written or holds something else.
 */
export async function openLmdbLog(dir: string, options: LmdbLogOptions = {}): Promise<EventLog> {
  return new LmdbLog(dir, await Environment.take(dir), options)
}

/** Sub-database per topic: position (8 bytes, big endian) → time ‖ value. */
class LmdbLog implements EventLog {
  readonly #dir: string
  readonly #retention: Readonly<Record<Topic, number>>
  readonly #now: () => number
  readonly #environment: Environment
  #closed: Promise<void> | undefined

  constructor(dir: string, environment: Environment, options: LmdbLogOptions) {
    this.#dir = dir
    this.#environment = environment
    this.#retention = { ...RETENTION_MS, ...options.retentionMs }
    this.#now = options.now ?? Date.now
  }

  append(topic: Topic, values: readonly Uint8Array[]): Promise<number> {
    return this.#use(async ({ topics }) => {
      const store = topics[topic]
      // A child transaction is undone whole when one of its puts fails.
      return store.childTransaction(() => {
        const time = this.#now()
        let position = lastPosition(store)
        for (const value of values) store.putSync(keyOf(++position), stamped(time, value), { append: true })
        this.#dropExpired(store, time - this.#retention[topic], values.length, position)
        return position
      })
    })
  }

  async read(
    topic: Topic,
    position: number,
    limit: number,
    maxBytes = DEFAULT_READ_BYTES,
  ): Promise<LogRecord[]> {
    const records = await this.#use(({ root, topics }) => {
      root.resetReadTxn()
      return readRange(topics[topic], position, limit, maxBytes)
    })
    this.#environment.wasRead(records.reduce((sum, { value }) => sum + value.length, 0))
    return records
  }

  last(topic: Topic): Promise<number> {
    return this.#use(({ root, topics }) => {
      // The driver keeps a reader's state for a while; what another process has just written would not be in it.
      root.resetReadTxn()
      return lastPosition(topics[topic])
    })
  }

  first(topic: Topic): Promise<number> {
    return this.#use(({ root, topics }) => {
      root.resetReadTxn()
      for (const key of topics[topic].getKeys({ limit: 1 })) return positionOf(key)
      return 0
    })
  }

  committed(topic: Topic, consumer: string): Promise<number> {
    return this.#use(({ root, consumers }) => {
      root.resetReadTxn()
      const value = consumers.get(Buffer.from(`${topic}/${consumer}`))
      return value === undefined ? -1 : Number(value.readBigInt64BE(0))
    })
  }

  commit(topic: Topic, consumer: string, position: number): Promise<void> {
    return this.#use(async ({ consumers }) => {
      const value = Buffer.alloc(8)
      value.writeBigInt64BE(BigInt(position))
      await consumers.put(Buffer.from(`${topic}/${consumer}`), value)
    }).catch(() => undefined)
  }

  async wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const deadline = performance.now() + timeoutMs
    while (signal?.aborted !== true && (await this.last(topic)) < position) {
      const left = deadline - performance.now()
      if (left <= 0) return
      await sleep(Math.min(WAIT_STEP_MS, left), undefined, { signal }).catch(() => undefined)
    }
  }

  /** At once: whoever starts later takes over, and tells by the fence of the tables. */
  lead(): Promise<Lease> {
    const { signal: lost } = new AbortController()
    return Promise.resolve({ isExclusive: false, lost, release: () => Promise.resolve() })
  }

  close(): Promise<void> {
    this.#closed ??= this.#environment.release()
    return this.#closed
  }

  #use<T>(action: (stores: Stores) => T | Promise<T>): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(new Error(`the log in ${this.#dir} is closed`))
    return this.#environment.use(action)
  }

  #dropExpired(store: Store, before: number, appended: number, newest: number): void {
    if (!Number.isFinite(before)) return
    const expired: Buffer[] = []
    for (const { key, value } of store.getRange({ limit: 2 * appended + DROP_PER_APPEND })) {
      // The newest stays whatever its age: it holds the number that the next one counts from.
      if (timeOf(value) >= before || positionOf(key) === newest) break
      expired.push(key)
    }
    for (const key of expired) store.removeSync(key)
  }
}

function readRange(store: Store, position: number, limit: number, maxBytes: number): LogRecord[] {
  const records: LogRecord[] = []
  if (limit <= 0) return records
  let bytes = 0
  for (const { key, value } of store.getRange({ start: keyOf(Math.max(position, 0)), limit })) {
    records.push({ position: positionOf(key), time: timeOf(value), value: value.subarray(TIME_BYTES) })
    bytes += value.length
    if (bytes >= maxBytes) break
  }
  return records
}

function lastPosition(store: Store): number {
  for (const key of store.getKeys({ reverse: true, limit: 1 })) return positionOf(key)
  return -1
}

function keyOf(position: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeBigUInt64BE(BigInt(position))
  return key
}

function positionOf(key: Buffer): number {
  return Number(key.readBigUInt64BE(0))
}

function timeOf(value: Buffer): number {
  return Number(value.readBigUInt64BE(0))
}

function stamped(time: number, value: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(TIME_BYTES + value.length)
  record.writeBigUInt64BE(BigInt(time))
  record.set(value, TIME_BYTES)
  return record
}
