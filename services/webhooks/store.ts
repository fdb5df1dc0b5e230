import { coded, StartRefused } from '../../pipelines/errors.js'
import { Sqlite } from '../../pipelines/log/embedded/sqlite.js'
import type { WebhookEvent } from './events/events.js'

/** The version of the tables below. */
const FORMAT = 1
/** The time for which a command of the operator and the service wait for each other, which is a transaction. */
const BUSY_MS = 5_000

/** FULL: what was acknowledged to the log's reader must not be lost by a power failure. */
const PRAGMAS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;'

const SCHEMA = `
  CREATE TABLE cursors (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE blocks (height INTEGER PRIMARY KEY, hash TEXT NOT NULL, position INTEGER NOT NULL, time INTEGER NOT NULL);
  CREATE TABLE hooks (
    id TEXT PRIMARY KEY, since INTEGER NOT NULL, watched TEXT NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '',
    disabled_url TEXT NOT NULL DEFAULT ''
  ) WITHOUT ROWID;
  CREATE TABLE seen (txid TEXT NOT NULL, hook TEXT NOT NULL, PRIMARY KEY (txid, hook)) WITHOUT ROWID;
  CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT, hook TEXT NOT NULL, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL,
    body TEXT NOT NULL, queued INTEGER NOT NULL, dead INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX deliveries_by_hook ON deliveries (dead, hook, number);
  PRAGMA user_version = ${String(FORMAT)};
`

/** Thrown for a file that a later version wrote. A restart does not help. */
export class StoreFormatError extends coded('HW_LOG_FORMAT', StartRefused) {}

/** The state of the chain up to which events are queued: what a reader of topic `chain` needs to continue. */
export interface ChainCursor {
  /** With the generation of the log, see `positionOf`. */
  readonly position: number
  readonly epoch: number
  readonly sequence: bigint
  readonly chain: string
  readonly tipHeight: number
  readonly tipHash: string
}

/** A block of the chain at the cursor. */
export interface StoredBlock {
  readonly height: number
  readonly hash: string
  /** Position of the event that connected it, with the generation of the log; -1 if it is not known. */
  readonly position: number
  /** The time at which that event was appended, in Unix milliseconds. */
  readonly time: number
}

export interface Delivery {
  readonly number: number
  readonly hook: string
  /** The `webhook-id`. */
  readonly id: string
  readonly type: string
  readonly body: string
  /** The time at which it was queued, in Unix milliseconds. */
  readonly queued: number
}

/** The state of the deliveries of a hook. */
export interface HookState {
  readonly id: string
  /** The position of topic `chain` at which it was registered. */
  readonly since: number
  /** The number of failed attempts since the last success. */
  readonly failures: number
  /** The time of the next attempt, in Unix milliseconds. */
  readonly due: number
  /** The reason of the last failure. */
  readonly error: string
  /** The URL that has answered 410; empty for none. */
  readonly disabledUrl: string
}

const DELIVERY = 'number, hook, id, type, body, queued'
const HOOK = 'id, since, failures, due, error, disabled_url AS disabledUrl'

/**
 * The durable state of the webhooks, a SQLite database. Delivery: exactly once into the queue, because events are queued in the
 * transaction that advances the cursors.
 */
export class Store {
  readonly #db: Sqlite

  /** Opens the file, and creates it if it is missing. @throws StoreFormatError for a file of a later version. */
  constructor(path: string) {
    this.#db = new Sqlite(path, BUSY_MS)
    try {
      this.#db.exec(PRAGMAS)
      const format = this.#db.pragma('user_version')
      if (format > FORMAT)
        throw new StoreFormatError(
          `${path} has format ${String(format)}, this version reads up to ${String(FORMAT)}: run the version that wrote it or a later one`,
        )
      if (format === 0) this.write(() => this.#db.exec(SCHEMA))
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** Runs an action in a transaction, which is durable when this returns, and rolled back if it throws. */
  write(action: () => void): void {
    this.#db.write(action)
  }

  close(): void {
    this.#db.close()
  }

  /** The state up to which events are queued; undefined before the first start. */
  get chain(): ChainCursor | undefined {
    const text = this.#cursor('chain')
    if (text === undefined) return undefined
    const { sequence, ...others } = JSON.parse(text) as Omit<ChainCursor, 'sequence'> & { sequence: string }
    return { ...others, sequence: BigInt(sequence) }
  }

  /** Stores the state up to which events are queued. Call within `write`. */
  setChain(cursor: ChainCursor): void {
    this.#setCursor('chain', JSON.stringify({ ...cursor, sequence: String(cursor.sequence) }))
  }

  /** The last position of topic `node` up to which events are queued; undefined before the first start. */
  get node(): number | undefined {
    const text = this.#cursor('node')
    return text === undefined ? undefined : Number(text)
  }

  /** Stores the last position of topic `node` up to which events are queued. Call within `write`. */
  setNode(position: number): void {
    this.#setCursor('node', String(position))
  }

  block(height: number): StoredBlock | undefined {
    return this.#db.prepared('SELECT * FROM blocks WHERE height = ?').get(height) as StoredBlock | undefined
  }

  /** Adds a block, or replaces the block at its height. Call within `write`. */
  putBlock({ height, hash, position, time }: StoredBlock): void {
    this.#db.prepared('INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)').run(height, hash, position, time)
  }

  /** Removes the blocks above a height. Call within `write`. */
  cutBlocks(height: number): void {
    this.#db.prepared('DELETE FROM blocks WHERE height > ?').run(height)
  }

  hook(id: string): HookState | undefined {
    return this.#db.prepared(`SELECT ${HOOK} FROM hooks WHERE id = ?`).get(id) as HookState | undefined
  }

  /** Returns the txids for which the blocks below the cursor were searched for a hook. */
  watched(id: string): ReadonlySet<string> {
    const row = this.#db.prepared('SELECT watched FROM hooks WHERE id = ?').get(id) as
      | { watched: string }
      | undefined
    return new Set(row === undefined ? [] : (JSON.parse(row.watched) as string[]))
  }

  /** Notes a hook of the file, and its txids. @param since the position at which it is registered, if it is new. Call within `write`. */
  register(id: string, since: number, watched: ReadonlySet<string>): void {
    this.#db
      .prepared(
        'INSERT INTO hooks (id, since, watched) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET watched = excluded.watched',
      )
      .run(id, since, JSON.stringify([...watched]))
  }

  /** Returns the hooks that were notified of an unconfirmed transaction. */
  seenBy(txid: string): string[] {
    const rows = this.#db.prepared('SELECT hook FROM seen WHERE txid = ?').all(txid) as { hook: string }[]
    return rows.map(({ hook }) => hook)
  }

  /** Returns the unconfirmed transactions of which hooks were notified. */
  seenTxids(): string[] {
    const rows = this.#db.prepared('SELECT DISTINCT txid FROM seen').all() as { txid: string }[]
    return rows.map(({ txid }) => txid)
  }

  /** Notes that a hook is notified of an unconfirmed transaction. Call within `write`. */
  addSeen(txid: string, hook: string): void {
    this.#db.prepared('INSERT OR IGNORE INTO seen VALUES (?, ?)').run(txid, hook)
  }

  /** Forgets an unconfirmed transaction. Call within `write`. */
  removeSeen(txid: string): void {
    this.#db.prepared('DELETE FROM seen WHERE txid = ?').run(txid)
  }

  /** Queues events for delivery. Call within `write`. @param queued the time, in Unix milliseconds. */
  queue(events: readonly WebhookEvent[], queued: number): void {
    const insert = this.#db.prepared(
      'INSERT OR IGNORE INTO deliveries (hook, id, type, body, queued) VALUES (?, ?, ?, ?, ?)',
    )
    for (const { hook, id, type, body } of events) insert.run(hook, id, type, body, queued)
  }

  /** Returns the oldest delivery that waits for a hook. */
  next(hook: string): Delivery | undefined {
    const sql = `SELECT ${DELIVERY} FROM deliveries WHERE dead = 0 AND hook = ? ORDER BY number LIMIT 1`
    return this.#db.prepared(sql).get(hook) as Delivery | undefined
  }

  /** Removes a delivery that was accepted, and ends the pause of its hook. */
  delivered({ number, hook }: Delivery): void {
    this.write(() => {
      this.#db.prepared('DELETE FROM deliveries WHERE number = ?').run(number)
      this.#db.prepared("UPDATE hooks SET failures = 0, due = 0, error = '' WHERE id = ?").run(hook)
    })
  }

  /**
   * Notes a failed attempt.
   * @param deadBefore deliveries of the hook that were queued before this time are given up.
   * @returns the number of deliveries that were given up.
   */
  failed(
    hook: string,
    { due, error, deadBefore }: { due: number; error: string; deadBefore: number },
  ): number {
    let dead = 0
    this.write(() => {
      this.#db
        .prepared('UPDATE hooks SET failures = failures + 1, due = ?, error = ? WHERE id = ?')
        .run(due, error, hook)
      const kill = this.#db.prepared(
        'UPDATE deliveries SET dead = 1 WHERE dead = 0 AND hook = ? AND queued < ?',
      )
      dead = kill.run(hook, deadBefore).changes
    })
    return dead
  }

  /** Disables a hook until its URL changes or the operator retries its deliveries. */
  disable(hook: string, url: string): void {
    this.write(() => this.#db.prepared('UPDATE hooks SET disabled_url = ? WHERE id = ?').run(url, hook))
  }

  /** Queues the dead deliveries of a hook again, enables it, and ends its pause. @returns whether there is such a hook. */
  retry(hook: string): boolean {
    let isKnown = false
    this.write(() => {
      this.#db.prepared('UPDATE deliveries SET dead = 0 WHERE dead = 1 AND hook = ?').run(hook)
      const enable = this.#db.prepared(
        "UPDATE hooks SET failures = 0, due = 0, disabled_url = '' WHERE id = ?",
      )
      isKnown = enable.run(hook).changes > 0
    })
    return isKnown
  }

  /** Removes the dead and waiting deliveries of a hook. @returns their number. */
  drop(hook: string): number {
    let dropped = 0
    this.write(() => {
      dropped = this.#db.prepared('DELETE FROM deliveries WHERE hook = ?').run(hook).changes
    })
    return dropped
  }

  /** Returns all hooks that were ever registered, with the numbers of their deliveries. */
  overview(): (HookState & {
    readonly waiting: number
    readonly dead: number
    readonly oldest: number | null
  })[] {
    const count = (dead: number): string =>
      `(SELECT count(*) FROM deliveries WHERE dead = ${String(dead)} AND hook = hooks.id)`
    const oldest =
      '(SELECT queued FROM deliveries WHERE dead = 0 AND hook = hooks.id ORDER BY number LIMIT 1)'
    const sql = `SELECT ${HOOK}, ${count(0)} AS waiting, ${count(1)} AS dead, ${oldest} AS oldest FROM hooks ORDER BY id`
    return this.#db.prepared(sql).all() as ReturnType<Store['overview']>
  }

  #cursor(name: string): string | undefined {
    const row = this.#db.prepared('SELECT value FROM cursors WHERE name = ?').get(name) as
      | { value: string }
      | undefined
    return row?.value
  }

  #setCursor(name: string, value: string): void {
    this.#db.prepared('INSERT OR REPLACE INTO cursors VALUES (?, ?)').run(name, value)
  }
}
