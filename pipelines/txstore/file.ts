import { mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Sqlite } from '../log/embedded/sqlite.js'

/** The version of the tables below. A file of another version is written again. */
const FORMAT = 1
/** "HWtx": distinguishes a transaction store from other SQLite databases. */
const APPLICATION_ID = 0x48_57_74_78
/** The memory for pages of each connection, in KiB; the operating system keeps more of them. */
const CACHE_KIB = 8_192
/** SQLite's primary result codes of a file that cannot be read: CORRUPT and NOTADB. */
const UNREADABLE = [11, 26]

/**
 * The number of a transaction in a store is that of its block times this, plus its index in the block: rows are in the order in which
 * blocks were written. No block has as many transactions: each has 60 bytes.
 */
export const TXS_PER_BLOCK = 2 ** 22

const SCHEMA = `
  CREATE TABLE blocks (id INTEGER PRIMARY KEY, height INTEGER NOT NULL, hash BLOB NOT NULL);
  CREATE INDEX blocks_by_height ON blocks (height);
  CREATE TABLE txs (
    id INTEGER PRIMARY KEY, txid BLOB NOT NULL, size INTEGER NOT NULL, is_dilithium INTEGER NOT NULL,
    body BLOB NOT NULL, prevouts BLOB NOT NULL, witness BLOB NOT NULL
  );
  CREATE TABLE places (prefix INTEGER NOT NULL, tx INTEGER NOT NULL, PRIMARY KEY (prefix, tx)) WITHOUT ROWID;
  CREATE TABLE spends (
    tx INTEGER NOT NULL, vout INTEGER NOT NULL, spender INTEGER NOT NULL, vin INTEGER NOT NULL,
    PRIMARY KEY (tx, vout, spender, vin)
  ) WITHOUT ROWID;
  CREATE TABLE progress (position INTEGER NOT NULL, time INTEGER NOT NULL);
  PRAGMA application_id = ${String(APPLICATION_ID)};
  PRAGMA user_version = ${String(FORMAT)};
`

/** Opens a store for reading; undefined if there is none of this version. */
export function openForReading(path: string): Sqlite | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const db = new Sqlite(path)
  try {
    db.exec(`PRAGMA cache_size = -${String(CACHE_KIB)}`)
    if (isCurrent(db)) return db
  } catch (error) {
    db.close()
    if (isUnreadable(error)) return undefined
    throw error
  }
  db.close()
  return undefined
}

/** Opens a store for writing, and creates it, also in place of one that cannot be read or is of another version. */
export function openForWriting(path: string): Sqlite {
  mkdirSync(dirname(path), { recursive: true })
  const db = existing(path)
  if (db !== undefined) return db
  remove(path)
  const created = new Sqlite(path)
  // A power failure may lose the newest commits, and nothing else: the log has them.
  created.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  created.write(() => {
    created.exec(SCHEMA)
  })
  return created
}

/** Removes a store. */
export function remove(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
}

/** Returns whether an error means that the file is damaged, or is no database. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && UNREADABLE.includes(Number(error.errcode) & 0xff)
}

function existing(path: string): Sqlite | undefined {
  const db = openForReading(path)
  db?.exec('PRAGMA synchronous = NORMAL')
  return db
}

function isCurrent(db: Sqlite): boolean {
  return db.pragma('application_id') === APPLICATION_ID && db.pragma('user_version') === FORMAT
}

/** Returns the first six bytes of a txid as a number: most transactions share it with none. @param txid its beginning, in hex. */
export function prefixOf(txid: string): number {
  return Number.parseInt(txid.slice(0, 12), 16)
}
