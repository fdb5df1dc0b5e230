import type { Logger } from '../../../pipelines/logger.js'
import {
  type Database,
  DatabaseUnavailable,
  NotThere,
  QueryRefused,
} from '../../../pipelines/tables/clickhouse.js'
import { isMigrated } from '../../../pipelines/tables/migrate.js'

/** What reads ask of a database. */
export interface QueryRunner {
  /** Whether it is there: where it is not, every query fails at once. */
  readonly connected: boolean
  /** Whether many queries wait for their turn. */
  readonly isCrowded: boolean
  /**
   * @param signal ends the query, on the server too; it then rejects with the signal's reason.
   * @throws DatabaseUnavailable; QueryRefused, and other errors of our own.
   */
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<T[]>
}

const PING_EVERY_MS = 250
const PING_DEADLINE_MS = 1_000
const TICK_MS = 100
/**
 * So many looks in a row at which nothing had been heard since the last one, although something was asked: it is away. Looks
 * instead of time, for this process may be late itself: between two of them whatever has arrived is read.
 */
const SILENT_TICKS = 5
/** Of one query, waiting for its turn included. */
const QUERY_DEADLINE_MS = 5_000
/** Less than the client's connections, so that looks need not queue behind queries; more would not be faster. */
const MOST_RUNNING = 8
/** So many turns of waiting queries are a crowd: no new answer is begun. */
const CROWDED_TURNS = 16
/** Queries of answers that were begun go on; beyond this the database is as good as away. */
const MOST_WAITING = 4_000

/**
 * The database as reads see it: knows whether it is there, so that a read of a database that is away fails at once instead of
 * waiting for a connection, and one under way fails within a second. A database that is busy, but answers anything at all, is
 * there. What passes is told as DatabaseUnavailable; a query that is refused, or another error of ours, stays what it is.
 */
export class AvailableDatabase implements QueryRunner {
  #connected = false
  #running = 0
  readonly #waiting: (() => void)[] = []
  /** Of the queries that wait or run. */
  readonly #asked = new Set<AbortController>()
  #heard = false
  #silentTicks = 0
  #timers: NodeJS.Timeout[] = []
  #closed = false
  #pinging: Promise<void> | undefined

  constructor(
    private readonly db: Pick<Database, 'query' | 'ping'>,
    private readonly logger: Logger,
  ) {}

  get connected(): boolean {
    return this.#connected
  }

  get isCrowded(): boolean {
    return this.#waiting.length >= CROWDED_TURNS * MOST_RUNNING
  }

  /** Queries on their way, each on a connection of the client's pool. */
  get running(): number {
    return this.#running
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    await this.ping()
    if (this.#closed) return
    const again = (everyMs: number, look: () => void): NodeJS.Timeout => setInterval(look, everyMs).unref()
    this.#timers = [again(TICK_MS, () => this.#listen()), again(PING_EVERY_MS, () => void this.ping())]
  }

  /** What is under way fails. */
  close(): void {
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#abortAll('the explorer is stopping')
  }

  query<T>(sql: string, params?: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<T[]> {
    return this.#query(this.db, sql, params, signal)
  }

  /** Another database of the same server: there when this one is, and its queries stand in the same line. */
  on(db: Pick<Database, 'query'>): QueryRunner {
    const isConnected = (): boolean => this.#connected
    const isCrowded = (): boolean => this.isCrowded
    return {
      get connected() {
        return isConnected()
      },
      get isCrowded() {
        return isCrowded()
      },
      query: (sql, params, signal) => this.#query(db, sql, params, signal),
    }
  }

  async #query<T>(
    db: Pick<Database, 'query'>,
    sql: string,
    params: Readonly<Record<string, unknown>> = {},
    signal?: AbortSignal,
  ): Promise<T[]> {
    if (!this.#connected) throw new DatabaseUnavailable('database unreachable')
    signal?.throwIfAborted()
    const requested = new AbortController()
    const leave = (): void => {
      requested.abort(signal?.reason)
    }
    const timer = setTimeout(() => {
      requested.abort(new DatabaseUnavailable('query timed out'))
    }, QUERY_DEADLINE_MS)
    signal?.addEventListener('abort', leave, { once: true })
    this.#asked.add(requested)
    try {
      await this.#turn(requested.signal)
      try {
        return await this.#ask<T>(db, sql, params, requested.signal)
      } finally {
        this.#running--
        this.#waiting.shift()?.()
      }
    } finally {
      this.#asked.delete(requested)
      signal?.removeEventListener('abort', leave)
      clearTimeout(timer)
    }
  }

  /** Resolves when there is a connection for one more query, which is then counted as running; rejects as the signal says. */
  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#running < MOST_RUNNING) {
      this.#running++
      return
    }
    if (this.#waiting.length >= MOST_WAITING) throw new DatabaseUnavailable('too many queries are waiting')
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        this.#running++
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        const location = this.#waiting.indexOf(begin)
        if (location >= 0) this.#waiting.splice(location, 1)
        reject(signal.reason as Error)
      }
      this.#waiting.push(begin)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  async #ask<T>(
    db: Pick<Database, 'query'>,
    sql: string,
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<T[]> {
    try {
      const rows = await db.query<T>(sql, params, { signal })
      this.#heard = true
      return rows
    } catch (error) {
      if (error instanceof QueryRefused) this.#heard = true
      if (signal.aborted) throw signal.reason
      if (!(await isPassing(error, db))) throw error
      this.logger.warn({ err: error, sql: sql.slice(0, 200) }, 'query failed')
      void this.ping()
      throw new DatabaseUnavailable('query failed', { cause: error })
    }
  }

  /** Looks whether database reachable again; looks of the same moment are one. Never rejects. */
  ping(): Promise<void> {
    this.#pinging ??= this.#look().finally(() => {
      this.#pinging = undefined
    })
    return this.#pinging
  }

  async #look(): Promise<void> {
    const deadline = AbortSignal.timeout(PING_DEADLINE_MS)
    const answered = await this.db.ping({ signal: deadline }).catch(() => false)
    if (answered) this.#heard = true
    if (answered === this.#connected || this.#closed) return
    if (answered) this.#arrive()
    // One that is only late may be busy with queries that it does answer.
    else if (!deadline.aborted) this.#leave('it refuses connections')
  }

  #listen(): void {
    const isAsked = this.#running > 0 || this.#pinging !== undefined
    this.#silentTicks = this.#heard || !isAsked ? 0 : this.#silentTicks + 1
    this.#heard = false
    if (this.#connected && this.#silentTicks >= SILENT_TICKS) this.#leave('it does not respond')
  }

  #arrive(): void {
    this.#connected = true
    this.#silentTicks = 0
    this.logger.info({}, 'database reachable again')
  }

  #leave(why: string): void {
    this.#connected = false
    this.logger.warn({ why, running: this.#running, waiting: this.#waiting.length }, 'database unreachable')
    this.#abortAll('the database became unreachable')
  }

  #abortAll(why: string): void {
    const reason = new DatabaseUnavailable(why)
    // A query that ends lets the next one begin, which is then ended in its turn.
    for (const requested of [...this.#asked]) requested.abort(reason)
  }
}

/** Whether the same query may succeed later: database unreachable, or its tables are still being made or upgraded. */
async function isPassing(error: unknown, db: Pick<Database, 'query'>): Promise<boolean> {
  if (error instanceof DatabaseUnavailable) return true
  return error instanceof NotThere && !(await isMigrated(db).catch(() => false))
}
