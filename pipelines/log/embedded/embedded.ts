import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../logger.js'
import { isOldFormat, markAsNewFormat, syncFolder } from './format.js'
import { RETENTION_MS, TOPICS, type EventLog, type Lease, type LogRecord, type Topic } from '../port.js'
import { isBusy, RecordFile } from './record-file.js'

/** How often `wait` looks. A look is a few microseconds, so this is latency and not load. */
const WAIT_STEP_MS = 15
/** What `read` gives at most where the caller does not say. */
const DEFAULT_READ_BYTES = 16 * 2 ** 20
/** Another process holds a lock for as long as it commits; one that is frozen holds it until it wakes or is killed. */
const BUSY_STEP_MS = 2
const BUSY_STEP_MAX_MS = 50
const BUSY_MS = 10_000
/** A write-ahead log of this size is reported: a process that is frozen while it reads keeps it from being emptied. */
const LARGE_WAL_BYTES = 512 * 2 ** 20
const REPORT_EVERY_MS = 60_000

export const CONSUMERS = 'consumers'
export type FileName = Topic | typeof CONSUMERS

/** How far the conversion of a log in the old format is. */
export interface UpgradeProgress {
  /** Records converted, of all topics. */
  readonly done: number
  readonly total: number
}

export interface EmbeddedLogOptions {
  /** Instead of RETENTION_MS. */
  readonly retentionMs?: Partial<Record<Topic, number>>
  /** Unix milliseconds; the clock of the tests. */
  readonly now?: () => number
  /** How long a call waits for another process's lock before it fails, in milliseconds. */
  readonly busyMs?: number
  /** Instead of LARGE_WAL_BYTES. */
  readonly largeWalBytes?: number
  readonly logger?: Logger | undefined
  /** Called now and then while a log in the old format is converted, by this process or by another. */
  readonly onUpgrade?: ((progress: UpgradeProgress) => void) | undefined
}

/**
 * Opens (and creates) the embedded log in a folder. Any number of processes may have it open. A log in the format of earlier
 * versions is converted first; resolves when that is done.
 * @throws LogFormatError for a log of a later version; Error where the folder cannot be written.
 */
export async function openEmbeddedLog(dir: string, options: EmbeddedLogOptions = {}): Promise<EventLog> {
  const folder = resolve(dir)
  const made = mkdirSync(folder, { recursive: true })
  for (let each = folder; made !== undefined && each.length >= made.length; each = dirname(each))
    await syncFolder(dirname(each))
  if (await isOldFormat(folder)) {
    // The old format's driver is only in the memory of those who need it.
    const { upgrade } = await import('./upgrade.js')
    await upgrade(folder, options)
  }
  await markAsNewFormat(folder)
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
 * Opens the file of a topic, or that of the consumers' positions, which is one of its own so that committing one never waits
 * for an append. @throws as RecordFile.
 */
export function openFile(folder: string, name: FileName): RecordFile {
  // What consumers commit may be lost.
  return new RecordFile(join(folder, `${name}.sqlite`), name === CONSUMERS ? 'NORMAL' : 'FULL')
}

/** A database for each topic, so that writers of different topics never wait for each other. */
class EmbeddedLog implements EventLog {
  readonly #folder: string
  readonly #retention: Readonly<Record<Topic, number>>
  readonly #options: EmbeddedLogOptions
  readonly #now: () => number
  readonly #files = new Map<FileName, RecordFile>()
  /** Appends of one topic one after the other, in the order of the calls, however often each waits for a lock. */
  readonly #pens = new Map<Topic, Promise<unknown>>()
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
      const before = this.#pens.get(topic) ?? Promise.resolve()
      const appended = before.then(() => this.#retry(() => this.#appendTo(this.#file(topic), topic, values)))
      this.#pens.set(
        topic,
        appended.catch(() => undefined),
      )
      return appended
    })
  }

  read(topic: Topic, position: number, limit: number, maxBytes = DEFAULT_READ_BYTES): Promise<LogRecord[]> {
    return this.#look(() => this.#file(topic).read(Math.max(position, 0), Math.max(limit, 0), maxBytes))
  }

  last(topic: Topic): Promise<number> {
    return this.#look(() => this.#file(topic).last)
  }

  first(topic: Topic): Promise<number> {
    return this.#look(() => this.#file(topic).first ?? 0)
  }

  committed(topic: Topic, consumer: string): Promise<number> {
    return this.#look(() => this.#file(CONSUMERS).committed(`${topic}/${consumer}`))
  }

  commit(topic: Topic, consumer: string, position: number): Promise<void> {
    return this.#look(() => {
      const file = this.#file(CONSUMERS)
      file.write(() => {
        file.commit(`${topic}/${consumer}`, position)
      })
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
    this.#closed ??= (async () => {
      while (this.#underWay > 0) await sleep(1)
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

  /** What was appended stays appended, whatever becomes of this. */
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

  #look<T>(action: () => T): Promise<T> {
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

  /** Runs an action while the log is open, and stays so until it has ended. */
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

/** Runs an action until no other process's lock stops it. @throws what the action throws, after `busyMs` also that. */
export async function retryWhileBusy<T>(action: () => T, busyMs = BUSY_MS): Promise<T> {
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
