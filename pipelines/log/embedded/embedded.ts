import { mkdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../logger.js'
import { RETENTION_MS, TOPICS, type EventLog, type Lease, type LogRecord, type Topic } from '../port.js'
import { FolderChanges } from './changes.js'
import { RecordFile } from './record-file.js'
import { isBusy } from './sqlite.js'

/** The first pause of `wait` after a change of the file, which may not be visible yet. Each further pause is twice as long. */
const FIRST_STEP_MS = 1
/** The longest pause where changes are noticed. Without them, `wait` polls at `POLL_MS`, which takes 3 % of a core. */
const LONGEST_STEP_MS = 50
const POLL_MS = 5
/** The default of the `maxBytes` of `read`. */
const DEFAULT_READ_BYTES = 16 * 2 ** 20
/** Pauses between attempts while another process holds a lock. It holds it while it commits, or for as long as it is frozen. */
const BUSY_STEP_MS = 2
const BUSY_STEP_MAX_MS = 50
const BUSY_MS = 10_000
/** The size from which on a write-ahead log is reported: a process that is frozen while it reads prevents truncating it. */
const LARGE_WAL_BYTES = 512 * 2 ** 20
const REPORT_EVERY_MS = 60_000

/** The number of records that one step of `drop` removes. */
const DROP_AT_ONCE = 32

const CONSUMERS = 'consumers'
type FileName = Topic | typeof CONSUMERS

export interface EmbeddedLogOptions {
  /** Overrides entries of `RETENTION_MS`. */
  readonly retentionMs?: Partial<Record<Topic, number>>
  /** Returns the time in Unix milliseconds; for tests. */
  readonly now?: () => number
  /** The maximum time that a call waits for the lock of another process before it fails, in milliseconds. */
  readonly busyMs?: number
  /** Overrides `LARGE_WAL_BYTES`. */
  readonly largeWalBytes?: number
  readonly logger?: Logger | undefined
}

/**
 * Opens the embedded log in a folder, and creates it if it is missing. Any number of processes may open it.
 * @throws LogFormatError for a log of a later version; Error if the folder is not writable.
 */
export async function openEmbeddedLog(dir: string, options: EmbeddedLogOptions = {}): Promise<EventLog> {
  const folder = resolve(dir)
  const firstCreated = mkdirSync(folder, { recursive: true })
  for (
    let each = folder;
    firstCreated !== undefined && each.length >= firstCreated.length;
    each = dirname(each)
  )
    await syncFolder(dirname(each))
  const log = new EmbeddedLog(folder, options)
  try {
    for (const topic of TOPICS) await log.last(topic)
    return log
  } catch (error) {
    await log.close()
    throw error
  }
}

/**
 * Opens the file of a topic, or the file of the consumers' positions, which is separate so that a commit never waits for an
 * append. @throws LogFormatError for a file that this version cannot read.
 */
function openFile(folder: string, name: FileName): RecordFile {
  // Commits of consumers may be lost.
  return new RecordFile(join(folder, `${name}.sqlite`), name === CONSUMERS ? 'NORMAL' : 'FULL')
}

/** The embedded log. Each topic has its own database, so that writers of different topics never wait for each other. */
class EmbeddedLog implements EventLog {
  readonly #folder: string
  readonly #retention: Readonly<Record<Topic, number>>
  readonly #options: EmbeddedLogOptions
  readonly #now: () => number
  readonly #files = new Map<FileName, RecordFile>()
  /** The last append to each topic. Appends to a topic run in the order of the calls, however long each waits for a lock. */
  readonly #queues = new Map<Topic, Promise<unknown>>()
  #changes: FolderChanges | undefined
  #underWay = 0
  #reportedAt = 0
  #closed: Promise<void> | undefined

  constructor(folder: string, options: EmbeddedLogOptions) {
    this.#folder = folder
    this.#options = options
    this.#retention = { ...RETENTION_MS, ...options.retentionMs }
    this.#now = options.now ?? Date.now
  }

  append(topic: Topic, values: readonly Uint8Array[]): Promise<number> {
    return this.#use(() => {
      const before = this.#queues.get(topic) ?? Promise.resolve()
      const appended = before.then(() => this.#retry(() => this.#appendTo(this.#file(topic), topic, values)))
      this.#queues.set(
        topic,
        appended.catch(() => undefined),
      )
      return appended
    })
  }

  read(topic: Topic, position: number, limit: number, maxBytes = DEFAULT_READ_BYTES): Promise<LogRecord[]> {
    return this.#query(() => this.#file(topic).read(Math.max(position, 0), Math.max(limit, 0), maxBytes))
  }

  last(topic: Topic): Promise<number> {
    return this.#query(() => this.#file(topic).last)
  }

  first(topic: Topic): Promise<number> {
    return this.#query(() => this.#file(topic).first ?? 0)
  }

  async drop(topic: Topic, before: number): Promise<void> {
    // In steps, between which appends of other processes need not wait.
    let dropped: number
    do {
      dropped = await this.#query(() => {
        const file = this.#file(topic)
        return file.write(() => file.dropBefore(before, DROP_AT_ONCE))
      })
    } while (dropped > 0)
  }

  committed(topic: Topic, consumer: string): Promise<number> {
    return this.#query(() => this.#file(CONSUMERS).committed(`${topic}/${consumer}`))
  }

  commit(topic: Topic, consumer: string, position: number): Promise<void> {
    return this.#query(() => {
      const file = this.#file(CONSUMERS)
      file.write(() => {
        file.commit(`${topic}/${consumer}`, position)
      })
    }).catch(() => undefined)
  }

  async wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const deadline = performance.now() + timeoutMs
    const changes = (this.#changes ??= new FolderChanges(this.#folder))
    let step = changes.sinceLast(topic) < LONGEST_STEP_MS ? FIRST_STEP_MS : LONGEST_STEP_MS
    while (signal?.aborted !== true && (await this.last(topic)) < position) {
      const left = deadline - performance.now()
      if (left <= 0) return
      const longest = changes.isWatching ? LONGEST_STEP_MS : POLL_MS
      const hasChanged = await changes.next(topic, Math.min(step, longest, left), signal)
      step = hasChanged ? FIRST_STEP_MS : Math.min(2 * step, LONGEST_STEP_MS)
    }
  }

  /** Resolves at once. A process that starts later takes over, and the fence of the tables stops this one. */
  lead(): Promise<Lease> {
    const { signal: lost } = new AbortController()
    return Promise.resolve({ isExclusive: false, lost, release: () => Promise.resolve() })
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      while (this.#underWay > 0) await sleep(1)
      this.#changes?.close()
      for (const file of this.#files.values()) file.close()
      this.#files.clear()
    })()
    return this.#closed
  }

  #appendTo(file: RecordFile, topic: Topic, values: readonly Uint8Array[]): number {
    const time = this.#now()
    const position = file.write(() => {
      let last = file.last
      for (const value of values) file.insert(++last, time, value)
      file.dropExpired(time - this.#retention[topic], values.length)
      return last
    })
    this.#trim(file)
    return position
  }

  /** Truncates the write-ahead log if it is large. Never throws: the append before it has succeeded. */
  #trim(file: RecordFile): void {
    try {
      const bytes = file.trim()
      if (
        bytes < (this.#options.largeWalBytes ?? LARGE_WAL_BYTES) ||
        Date.now() - this.#reportedAt < REPORT_EVERY_MS
      )
        return
      this.#reportedAt = Date.now()
      this.#options.logger?.warn(
        { file: `${file.path}-wal`, bytes },
        'the write-ahead log grows because a frozen process is reading the event log; resume or kill that process',
      )
    } catch (error) {
      this.#options.logger?.warn({ err: error }, 'cannot empty the write-ahead log of the event log')
    }
  }

  #query<T>(action: () => T): Promise<T> {
    return this.#use(() => this.#retry(action))
  }

  #file(name: FileName): RecordFile {
    const file = this.#files.get(name) ?? openFile(this.#folder, name)
    this.#files.set(name, file)
    return file
  }

  #retry<T>(action: () => T): Promise<T> {
    return retryWhileBusy(action, this.#options.busyMs)
  }

  /** Runs an action on the open log; `close` waits until it has ended. @throws Error if the log is closed. */
  async #use<T>(action: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw new Error(`the log in ${this.#folder} is closed`)
    this.#underWay++
    try {
      return await action()
    } finally {
      this.#underWay--
    }
  }
}

/** Runs an action again while the lock of another process prevents it, for up to `busyMs`. @throws what the action throws. */
async function retryWhileBusy<T>(action: () => T, busyMs = BUSY_MS): Promise<T> {
  const deadline = performance.now() + busyMs
  for (let pause = BUSY_STEP_MS; ; pause = Math.min(2 * pause, BUSY_STEP_MAX_MS)) {
    try {
      return action()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline)
        throw new Error(
          `another process has had the event log locked for ${String(busyMs / 1000)} s; check for a frozen process that uses it`,
          { cause: error },
        )
    }
    await sleep(pause)
  }
}

/** Makes the names in a folder durable, even across a power failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
