import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { open, type Database, type RootDatabase } from 'lmdb'
import {
  CONSUMERS,
  type EmbeddedLogOptions,
  openFile,
  retryWhileBusy,
  type UpgradeProgress,
} from './embedded.js'
import { isLmdb, isOldFormat, markAsNewFormat } from './format.js'
import { type LogRecord, type Topic, TOPICS } from '../port.js'
import { isBusy, RecordFile } from './record-file.js'

type Store = Database<Buffer, Buffer>

/** The file that the converting process keeps locked. */
const LOCK_FILE = 'upgrade.sqlite'
/** The progress of the conversion, for processes that wait for it. */
const PROGRESS_FILE = 'upgrade.json'
/** Files that earlier versions and the conversion leave next to the log. */
const LEFT_OVER = ['lock.mdb', PROGRESS_FILE, LOCK_FILE, `${LOCK_FILE}-wal`, `${LOCK_FILE}-shm`]

const WAIT_STEP_MS = 200
const REPORT_EVERY_MS = 5_000
/** The maximum size of the records that one transaction copies. */
const BATCH_BYTES = 8 * 2 ** 20
const BATCH_RECORDS = 1_000
/** In the old format the time of the append precedes each value: Unix milliseconds, big-endian. */
const TIME_BYTES = 8

/**
 * Converts a log from LMDB, the format of earlier versions. One process converts, the others wait for it. Converted records are
 * durable, so that an interrupted conversion continues where it stopped. The old file is replaced at the end.
 * @throws Error if the old log is damaged, or if there is not enough disk space for both.
 */
export async function upgrade(folder: string, options: EmbeddedLogOptions): Promise<void> {
  const report = reporter(folder, options)
  const lock = await retryWhileBusy(() => new RecordFile(join(folder, LOCK_FILE)))
  try {
    while (!isLocked(lock)) {
      const progress = await readProgress(folder)
      if (progress !== undefined) report(progress)
      await sleep(WAIT_STEP_MS)
    }
    if (!(await isOldFormat(folder))) return
    await convert(folder, options, async (progress) => {
      report(progress)
      await writeProgress(folder, progress)
    })
    await markAsNewFormat(folder)
    for (const name of LEFT_OVER) await rm(join(folder, name), { force: true })
    options.logger?.info({ folder }, 'event log converted')
  } finally {
    lock.close()
  }
}

function isLocked(file: RecordFile): boolean {
  try {
    file.lock()
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

async function convert(
  folder: string,
  options: EmbeddedLogOptions,
  report: (progress: UpgradeProgress) => Promise<void>,
): Promise<void> {
  const root = await openOld(folder)
  try {
    await untilAlone(root, folder, options)
    const stores = TOPICS.map((topic) => ({ topic, store: storeOf(root, topic) }))
    const total = stores.reduce((sum, { store }) => sum + (store?.getKeysCount() ?? 0), 0)
    let done = 0
    for (const { topic, store } of stores) {
      for await (const copied of copies(folder, topic, store)) {
        done += copied
        await report({ done, total })
      }
    }
    copyConsumers(folder, storeOf(root, CONSUMERS))
  } finally {
    await root.close()
  }
}

async function openOld(folder: string): Promise<RootDatabase<Buffer, Buffer>> {
  if (!(await isLmdb(folder)))
    throw new Error(
      `the event log in ${folder} is damaged and cannot be converted from its old format: delete the folder to index again, or set another DATA_DIR or LOG_URL`,
    )
  return open<Buffer, Buffer>({
    path: folder,
    readOnly: true,
    encoding: 'binary',
    keyEncoding: 'binary',
    compression: false,
    maxDbs: 8,
  })
}

/** Opens the store of a topic; undefined for a topic without records. */
function storeOf(root: RootDatabase<Buffer, Buffer>, name: string): Store | undefined {
  return root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' })
}

/** Waits until no process of an earlier version has the old file open, because it would continue to write to it. */
async function untilAlone(
  root: RootDatabase<Buffer, Buffer>,
  folder: string,
  { logger }: EmbeddedLogOptions,
): Promise<void> {
  let reportedAt = -Infinity
  for (;;) {
    root.readerCheck()
    const other = readersOf(root).find((pid) => pid !== process.pid)
    if (other === undefined) return
    if (performance.now() - reportedAt >= REPORT_EVERY_MS) {
      reportedAt = performance.now()
      logger?.warn(
        { folder, pid: other },
        'event log in use by an earlier version: stop that process to convert it',
      )
    }
    await sleep(WAIT_STEP_MS)
  }
}

/** Returns the process ids of the readers, from a table whose first line is a heading. */
function readersOf(root: RootDatabase<Buffer, Buffer>): number[] {
  const [, ...lines] = root.readerList().split('\n')
  return lines.map((line) => Number.parseInt(line, 10)).filter((pid) => Number.isInteger(pid))
}

/** Copies a topic in batches. Yields the number of records of each batch, after the number of records copied by earlier runs. */
async function* copies(folder: string, topic: Topic, store: Store | undefined): AsyncGenerator<number> {
  const file = await retryWhileBusy(() => openFile(folder, topic))
  try {
    const { first, last } = file
    if (first !== undefined) yield last - first + 1
    for (let next = last + 1; store !== undefined;) {
      const records = readOld(store, next)
      const newest = records.at(-1)
      if (newest === undefined) return
      await retryWhileBusy(() => {
        file.write(() => {
          for (const { position, time, value } of records) file.insert(position, time, value)
        })
      })
      file.trim()
      next = newest.position + 1
      yield records.length
      // Lets signals be handled: everything above is synchronous.
      await turn()
    }
  } finally {
    file.close()
  }
}

function readOld(store: Store, position: number): LogRecord[] {
  const start = Buffer.alloc(8)
  start.writeBigUInt64BE(BigInt(position))
  const records: LogRecord[] = []
  let bytes = 0
  for (const { key, value } of store.getRange({ start, limit: BATCH_RECORDS })) {
    records.push({
      position: Number(key.readBigUInt64BE(0)),
      time: Number(value.readBigUInt64BE(0)),
      value: value.subarray(TIME_BYTES),
    })
    bytes += value.length
    if (bytes >= BATCH_BYTES) break
  }
  return records
}

function copyConsumers(folder: string, store: Store | undefined): void {
  if (store === undefined) return
  const file = openFile(folder, CONSUMERS)
  try {
    file.write(() => {
      for (const { key, value } of store.getRange())
        file.commit(key.toString(), Number(value.readBigInt64BE(0)))
    })
  } finally {
    file.close()
  }
}

/** Returns a function that passes progress to `onUpgrade`, and logs it every few seconds. */
function reporter(
  folder: string,
  { logger, onUpgrade }: EmbeddedLogOptions,
): (progress: UpgradeProgress) => void {
  let reportedAt = -Infinity
  return (progress) => {
    onUpgrade?.(progress)
    if (performance.now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = performance.now()
    logger?.info({ folder, ...progress }, 'converting the event log to its new format')
  }
}

async function writeProgress(folder: string, progress: UpgradeProgress): Promise<void> {
  const path = join(folder, PROGRESS_FILE)
  await writeFile(`${path}.new`, JSON.stringify(progress))
  await rename(`${path}.new`, path)
}

async function readProgress(folder: string): Promise<UpgradeProgress | undefined> {
  const text = await readFile(join(folder, PROGRESS_FILE), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as UpgradeProgress)
}
