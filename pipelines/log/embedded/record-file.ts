import { statSync } from 'node:fs'
import { coded, StartRefused } from '../../errors.js'
import type { LogRecord } from '../port.js'
import { isBusy, Sqlite } from './sqlite.js'

/** "HWlg": distinguishes a file of the log from other SQLite databases. */
const APPLICATION_ID = 0x48_57_6c_67
/** The version of the tables below. A file with a larger number was written by a later version. */
export const FORMAT = 1
/** The page size. With the default of 4 KiB, appending and reading blocks takes twice as long, because they are large. */
const PAGE_BYTES = 16_384
/** The size above which a write-ahead log is truncated as soon as no reader needs it; below it SQLite's checkpoints suffice. */
const WAL_BYTES = 64 * 2 ** 20
/** Expired records that an append drops in addition to twice its own: a backlog shrinks, and no append takes long. */
const DROP_PER_APPEND = 16

/** FULL: a commit is durable when it returns. NORMAL: a power failure may lose the latest commits, and nothing else. */
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

/** Selects the rows from a position on that fit into a number of bytes: `before` is the size of the rows before a row. */
const READ = `
  SELECT position, time, value FROM records WHERE position >= ?1 AND position <= (
    SELECT max(position) FROM (
      SELECT position, sum(size) OVER (ORDER BY position) - size AS before FROM (
        SELECT position, length(value) AS size FROM records WHERE position >= ?1 ORDER BY position LIMIT ?2
      )
    ) WHERE before < ?3
  ) ORDER BY position`

/** Thrown for a file that is not a file of the log, or that a later version wrote. A restart does not help. */
export class LogFormatError extends coded('HW_LOG_FORMAT', StartRefused) {}

/**
 * Locks an empty file for this process with SQLite's write lock, until it is released or the process ends in any way. Writes
 * nothing to the file. @returns a function that releases it; undefined if another process holds it.
 */
export function holdFile(path: string): (() => void) | undefined {
  const db = new Sqlite(path)
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
 * A SQLite database in WAL mode with the records of one topic, and positions of consumers. Every method is one transaction,
 * returns at once, and throws if another process holds the lock that it needs (see `isBusy`). Other code in the same process must
 * not open the file: on POSIX, closing any descriptor of a file releases all locks that the process has on it.
 */
export class RecordFile {
  readonly path: string
  readonly #db: Sqlite

  /** Opens the file, and creates it if it is missing. @throws LogFormatError for a file that this version cannot read. */
  constructor(path: string, synchronous: Synchronous = 'FULL') {
    this.path = path
    this.#db = new Sqlite(path)
    try {
      this.#refuseOther()
      this.#db.exec(pragmas(synchronous))
      if (this.#db.pragma('user_version') === 0)
        this.write(() => {
          if (this.#db.pragma('user_version') === 0) this.#db.exec(SCHEMA)
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

  /** Runs an action in a write transaction, see `Sqlite.write`. */
  write<T>(action: () => T): T {
    return this.#db.write(action)
  }

  /** Takes the write lock until `close`. No other connection can write, and writes of this one are never committed. */
  lock(): void {
    this.#db.exec('BEGIN IMMEDIATE')
  }

  /** Inserts a record. Call only within `write`. */
  insert(position: number, time: number, value: Uint8Array): void {
    this.#db.prepared('INSERT INTO records VALUES (?, ?, ?)').run(position, time, value)
  }

  /** Drops a bounded number of the oldest records if they are older than `before`, never the newest. Call only within `write`. */
  dropExpired(before: number, appended: number): void {
    if (!Number.isFinite(before)) return
    const oldest = this.#db
      .prepared('SELECT position, time FROM records ORDER BY position LIMIT ?')
      .all(2 * appended + DROP_PER_APPEND) as { position: number; time: number }[]
    const { last } = this
    const end = oldest.findIndex(({ position, time }) => time >= before || position === last)
    const expired = oldest.slice(0, end < 0 ? oldest.length : end).at(-1)
    if (expired !== undefined)
      this.#db.prepared('DELETE FROM records WHERE position <= ?').run(expired.position)
  }

  /**
   * Drops up to `limit` of the oldest records before a position, never the newest record. Call only within `write`.
   * @returns their number.
   */
  dropBefore(before: number, limit: number): number {
    const dropped = `SELECT position FROM records WHERE position < ?1 AND position < (SELECT max(position) FROM records)
      ORDER BY position LIMIT ?2`
    return this.#db.prepared(`DELETE FROM records WHERE position IN (${dropped})`).run(before, limit).changes
  }

  /** Returns up to `limit` records and about `maxBytes`, but at least one record if there is one. */
  read(position: number, limit: number, maxBytes: number): LogRecord[] {
    return this.#db.prepared(READ).all(position, limit, Math.max(1, maxBytes)) as LogRecord[]
  }

  committed(consumer: string): number {
    return this.#number('SELECT position AS n FROM consumers WHERE name = ?', consumer) ?? -1
  }

  /** Stores the position of a consumer. Call only within `write`. */
  commit(consumer: string, position: number): void {
    this.#db.prepared('INSERT OR REPLACE INTO consumers VALUES (?, ?)').run(consumer, position)
  }

  /**
   * Truncates the write-ahead log if it is large and no reader needs it.
   * @returns its size in bytes afterwards.
   */
  trim(): number {
    const size = this.#walBytes()
    if (size < WAL_BYTES) return size
    // While readers need it, this returns a row that says so, and does not throw.
    this.#db.prepared('PRAGMA wal_checkpoint(TRUNCATE)').get()
    return this.#walBytes()
  }

  close(): void {
    this.#db.close()
  }

  #refuseOther(): void {
    // Read first: another process may be writing all three, in one transaction.
    const isEmpty = this.#number('SELECT count(*) AS n FROM sqlite_schema') === 0
    const [id, format] = [this.#db.pragma('application_id'), this.#db.pragma('user_version')]
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

  #number(sql: string, ...parameters: string[]): number | undefined {
    const row = this.#db.prepared(sql).get(...parameters) as { n: number | null } | undefined
    return row?.n ?? undefined
  }
}
