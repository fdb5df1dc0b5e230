import { statSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'
import { coded, StartRefused } from '../../errors.js'
import type { LogRecord } from '../port.js'

/** "HWlg": tells a file of the log from any other SQLite database. */
const APPLICATION_ID = 0x48_57_6c_67
/** Of the tables below. A file with a larger number was written by a later version. */
export const FORMAT = 1
/** Blocks are large: at 4 KiB, the default, appends and reads of them take twice as long. */
const PAGE_BYTES = 16_384
/** A write-ahead log over this size is emptied as soon as no reader needs it; below it SQLite's own checkpoints suffice. */
const WAL_BYTES = 64 * 2 ** 20
/** Of each append, beyond twice the batch: so a backlog of expired records shrinks, and no append takes long. */
const DROP_PER_APPEND = 16
/** SQLite's primary result codes. */
const [BUSY, LOCKED, PROTOCOL] = [5, 6, 15]

/** FULL: a commit is on disk when it returns. NORMAL: a power cut may take the latest ones, and nothing else. */
export type Synchronous = 'FULL' | 'NORMAL'

const pragmas = (synchronous: Synchronous): string => `
  PRAGMA page_size = ${String(PAGE_BYTES)};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${synchronous};
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;
`

const SCHEMA = `
  CREATE TABLE records (position INTEGER PRIMARY KEY, time INTEGER NOT NULL, value BLOB NOT NULL);
  CREATE TABLE consumers (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
  PRAGMA application_id = ${String(APPLICATION_ID)};
  PRAGMA user_version = ${String(FORMAT)};
`

/** The rows from a position on, as many as fit: `before` is what the rows before one take. */
const READ = `
  SELECT position, time, value FROM records WHERE position >= ?1 AND position <= (
    SELECT max(position) FROM (
      SELECT position, sum(size) OVER (ORDER BY position) - size AS before FROM (
        SELECT position, length(value) AS size FROM records WHERE position >= ?1 ORDER BY position LIMIT ?2
      )
    ) WHERE before < ?3
  ) ORDER BY position`

/** A file of the log holds something else, or was written by a later version: starting again does not help. */
export class LogFormatError extends coded('HW_LOG_FORMAT', StartRefused) {}

/** Whether another connection has the file locked just now, so that the same call may succeed a moment later. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error && 'errcode' in error)) return false
  return [BUSY, LOCKED, PROTOCOL].includes(Number(error.errcode) & 0xff)
}

/**
 * Holds an empty file for this process, as SQLite's lock of writers on it, until it is let go or the process ends in any way.
 * Nothing is ever written to it. @returns what lets it go; undefined where another process holds it.
 */
export function holdFile(path: string): (() => void) | undefined {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec('BEGIN IMMEDIATE')
  } catch (error) {
    db.close()
    if (isBusy(error)) return undefined
    throw error
  }
  return () => {
    db.close()
  }
}

/**
 * A SQLite database in WAL mode that holds the records of one topic, and positions of consumers. Every method is one
 * transaction, returns at once, and throws where another process holds the lock that it needs (see isBusy). Nothing else in a
 * process that uses it may open its file: on POSIX, closing any descriptor of a file takes all locks that the process has on it.
 */
export class RecordFile {
  readonly path: string
  readonly #db: DatabaseSyncInstance
  readonly #statements = new Map<string, StatementSyncInstance>()

  /** Opens and, where it is missing, creates the file. @throws LogFormatError for a file that this version cannot read. */
  constructor(path: string, synchronous: Synchronous = 'FULL') {
    this.path = path
    this.#db = new DatabaseSync(path, { timeout: 0 })
    try {
      this.#refuseOther()
      this.#db.exec(pragmas(synchronous))
      if (this.#pragma('user_version') === 0)
        this.write(() => {
          if (this.#pragma('user_version') === 0) this.#db.exec(SCHEMA)
        })
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  get last(): number {
    return this.#number('SELECT max(position) AS n FROM records') ?? -1
  }

  get first(): number | undefined {
    return this.#number('SELECT min(position) AS n FROM records')
  }

  /** Runs an action in a write transaction: what it wrote is on disk when this returns, or nothing of it was written. */
  write<T>(action: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = action()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      // After some errors SQLite has rolled back by itself.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  /** Takes the lock of writers, until `close`: nobody else writes, and what this connection writes is never committed. */
  lock(): void {
    this.#db.exec('BEGIN IMMEDIATE')
  }

  /** Only within `write`. */
  insert(position: number, time: number, value: Uint8Array): void {
    this.#prepared('INSERT INTO records VALUES (?, ?, ?)').run(position, time, value)
  }

  /** Only within `write`: drops the oldest records if they are older than `before`, a bounded number, and never the newest. */
  dropExpired(before: number, appended: number): void {
    if (!Number.isFinite(before)) return
    const oldest = this.#prepared('SELECT position, time FROM records ORDER BY position LIMIT ?').all(
      2 * appended + DROP_PER_APPEND,
    ) as { position: number; time: number }[]
    const { last } = this
    const kept = oldest.findIndex(({ position, time }) => time >= before || position === last)
    const expired = oldest.slice(0, kept < 0 ? oldest.length : kept).at(-1)
    if (expired !== undefined) this.#prepared('DELETE FROM records WHERE position <= ?').run(expired.position)
  }

  /** Returns up to `limit` records and about `maxBytes`, at least one record where there is one. */
  read(position: number, limit: number, maxBytes: number): LogRecord[] {
    return this.#prepared(READ).all(position, limit, Math.max(1, maxBytes)) as LogRecord[]
  }

  committed(consumer: string): number {
    return this.#number('SELECT position AS n FROM consumers WHERE name = ?', consumer) ?? -1
  }

  /** Only within `write`. */
  commit(consumer: string, position: number): void {
    this.#prepared('INSERT OR REPLACE INTO consumers VALUES (?, ?)').run(consumer, position)
  }

  /**
   * Empties the write-ahead log where it has become large, which a reader that is always there prevents.
   * @returns its size in bytes.
   */
  trim(): number {
    const size = this.#walBytes()
    if (size < WAL_BYTES) return size
    // Answers that it is busy instead of throwing.
    this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    return this.#walBytes()
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #refuseOther(): void {
    // First, for another process may write all three just now, in one transaction.
    const isEmpty = this.#number('SELECT count(*) AS n FROM sqlite_schema') === 0
    const [id, format] = [this.#pragma('application_id'), this.#pragma('user_version')]
    if (!isEmpty && id !== APPLICATION_ID)
      throw new LogFormatError(
        `${this.path} is a database, but not a file of the event log: set another folder`,
      )
    if (format > FORMAT)
      throw new LogFormatError(
        `${this.path} has format ${String(format)} of the event log, this version reads up to ${String(FORMAT)}: ` +
          'run the version that wrote it or a later one, or set another DATA_DIR or LOG_URL',
      )
  }

  #walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  #pragma(name: string): number {
    const row = this.#db.prepare(`PRAGMA ${name}`).get() as Record<string, number>
    return row[name] ?? 0
  }

  #number(sql: string, ...parameters: string[]): number | undefined {
    const row = this.#prepared(sql).get(...parameters) as { n: number | null } | undefined
    return row?.n ?? undefined
  }

  #prepared(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
