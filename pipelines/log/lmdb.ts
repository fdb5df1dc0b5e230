import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { open, type Database, type RootDatabase } from 'lmdb'
import { RETENTION_MS, type EventLog, type LogRecord, type Topic } from './port.js'

/** Address space, not memory or disk: room for a terabyte of blocks, so that no process ever has to grow its map. */
const MAP_BYTES = 2 ** 40
/** Reader slots of all processes together; each thread that reads takes one. */
const MAX_READERS = 1024
/** How often `wait` looks. A look is a few microseconds, so this is latency and not load. */
const WAIT_STEP_MS = 15
/** Pages that were read stay mapped and count as memory; after this many bytes the map is opened afresh (2 ms). */
const REMAP_AFTER_BYTES = 64 * 2 ** 20
/** What `read` gives at most where the caller does not say. */
const DEFAULT_READ_BYTES = 16 * 2 ** 20
/** Of each append, beyond twice the batch: so a backlog of expired records shrinks, and no append takes long. */
const DROP_PER_APPEND = 16
/** Each value is preceded by the time at which it was appended, unix milliseconds, big endian. */
const TIME_BYTES = 8
const TOPICS: readonly Topic[] = ['chain', 'node', 'committed']

type Store = Database<Buffer, Buffer>

interface Environment {
  readonly root: RootDatabase<Buffer, Buffer>
  readonly topics: Readonly<Record<Topic, Store>>
  readonly consumers: Store
}

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
export function openLmdbLog(dir: string, options: LmdbLogOptions = {}): Promise<EventLog> {
  mkdirSync(dir, { recursive: true })
  return Promise.resolve(new LmdbLog(dir, options))
}

/** Sub-database per topic: position (8 bytes, big endian) → time ‖ value. */
class LmdbLog implements EventLog {
  readonly #dir: string
  readonly #retention: Readonly<Record<Topic, number>>
  readonly #now: () => number
  #environment: Environment
  #remapping: Promise<void> | undefined
  #closed: Promise<void> | undefined
  #busy = 0
  #bytesRead = 0

  constructor(dir: string, options: LmdbLogOptions) {
    this.#dir = dir
    this.#retention = { ...RETENTION_MS, ...options.retentionMs }
    this.#now = options.now ?? Date.now
    this.#environment = openEnvironment(dir)
  }

  append(topic: Topic, values: readonly Uint8Array[]): Promise<number> {
    return this.#use(async ({ topics }) => {
      const store = topics[topic]
      // `overlappingSync` is off, so a commit is on disk before it is visible here or elsewhere, and before this resolves.
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
    const records = await this.#use(({ topics }) => readRange(topics[topic], position, limit, maxBytes))
    for (const record of records) this.#bytesRead += record.value.length
    this.#remapIfDue()
    return records
  }

  last(topic: Topic): Promise<number> {
    return this.#use(({ root, topics }) => {
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
    })
  }

  async wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const deadline = performance.now() + timeoutMs
    while (signal?.aborted !== true && (await this.last(topic)) < position) {
      const left = deadline - performance.now()
      if (left <= 0) return
      await sleep(Math.min(WAIT_STEP_MS, left), undefined, { signal }).catch(() => undefined)
    }
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#remapping?.catch(() => undefined)
      while (this.#busy > 0) await sleep(1)
      await this.#environment.root.close()
    })()
    return this.#closed
  }

  /** Runs an action on an environment that stays open while it lasts. */
  async #use<T>(action: (environment: Environment) => T | Promise<T>): Promise<T> {
    // Without a wait in the ordinary case, so that what was called before close() is counted before it.
    while (this.#remapping !== undefined) await this.#remapping
    if (this.#closed !== undefined) throw new Error(`the log in ${this.#dir} is closed`)
    this.#busy++
    try {
      return await action(this.#environment)
    } finally {
      this.#busy--
    }
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

  #remapIfDue(): void {
    if (this.#bytesRead < REMAP_AFTER_BYTES || this.#busy > 0) return
    if (this.#remapping !== undefined || this.#closed !== undefined) return
    this.#bytesRead = 0
    this.#remapping = this.#environment.root.close().then(() => {
      this.#environment = openEnvironment(this.#dir)
      this.#remapping = undefined
    })
    // Where it fails the promise stays: whoever uses the log from then on is told why.
    this.#remapping.catch(() => undefined)
  }
}

function openEnvironment(dir: string): Environment {
  const root = open<Buffer, Buffer>({
    path: dir,
    encoding: 'binary',
    keyEncoding: 'binary',
    compression: false,
    mapSize: MAP_BYTES,
    maxDbs: TOPICS.length + 1,
    maxReaders: MAX_READERS,
    overlappingSync: false,
  })
  const store = (name: string): Store => root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' })
  return {
    root,
    topics: { chain: store('chain'), node: store('node'), committed: store('committed') },
    consumers: store('consumers'),
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
