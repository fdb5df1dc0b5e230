import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'

/** SQLite's primary result codes. */
const [BUSY, LOCKED, PROTOCOL] = [5, 6, 15]

/** Returns whether an error means that another connection holds a lock, so that the same call may succeed later. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error && 'errcode' in error)) return false
  return [BUSY, LOCKED, PROTOCOL].includes(Number(error.errcode) & 0xff)
}

/** A SQLite database. Every method returns at once, and throws if another process holds the lock that it needs (see `isBusy`). */
export class Sqlite {
  readonly #db: DatabaseSyncInstance
  readonly #statements = new Map<string, StatementSyncInstance>()

  /** @param timeoutMs the time for which a call waits, and blocks the process, while another process holds a lock. */
  constructor(path: string, timeoutMs = 0) {
    this.#db = new DatabaseSync(path, { timeout: timeoutMs })
  }

  /** Runs statements without parameters. */
  exec(sql: string): void {
    this.#db.exec(sql)
  }

  /** Returns a prepared statement, which is kept. */
  prepared(sql: string): StatementSyncInstance {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) return cached
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** Returns a prepared statement whose rows are arrays, which is kept. The same SQL must not be used with `prepared`. */
  rows(sql: string): StatementSyncInstance {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) return cached
    const statement = this.prepared(sql)
    statement.setReturnArrays(true)
    return statement
  }

  /** Runs an action in a write transaction. Its writes are committed when this returns, and rolled back if it throws. */
  write<T>(action: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = action()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      // After some errors SQLite has already rolled back.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  /** Returns the value of a pragma that is a number. */
  pragma(name: string): number {
    const row = this.#db.prepare(`PRAGMA ${name}`).get() as Record<string, number>
    return row[name] ?? 0
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}
