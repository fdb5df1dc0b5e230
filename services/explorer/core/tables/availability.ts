import type { Logger } from '../../../../pipelines/logger.js'
import {
  type Database,
  DatabaseUnavailable,
  type QueryOptions,
  TableMissing,
  QueryRefused,
} from '../../../../pipelines/tables/clickhouse.js'
import { isCreated } from '../../../../pipelines/tables/schema-version.js'
import type { CancelSignal } from './cancellation.js'

/** A database as reads see it. */
export interface QueryRunner {
  /** True while the database is reachable; otherwise every query fails immediately. */
  readonly connected: boolean
  /** True while many queries are queued, or any while the database is silent. */
  readonly isCrowded: boolean
  /**
   * Runs a query.
   * @param signal cancels the query, on the server too; it then rejects with the signal's reason.
   * @throws DatabaseUnavailable, QueryRefused and other defects.
   */
  query<T>(sql: string, params?: Readonly<Record<string, unknown>>, signal?: CancelSignal): Promise<T[]>
  /** Runs a query whose rows are returned as the bytes of RowBinary. Like `query` otherwise. */
  bytes(sql: string, params?: Readonly<Record<string, unknown>>, signal?: CancelSignal): Promise<Buffer>
}

/** The methods of a database that queries need. */
type Queries = Pick<Database, 'query' | 'bytes'>

/** The maximum time for an answer, and for a query, in milliseconds, if the operator sets no other. */
export const ANSWER_DEADLINE_MS = 5_000
const PING_EVERY_MS = 250
/** The deadline of a ping while the database is unreachable: a new connection may succeed where an older one is dead. */
const PING_DEADLINE_MS = 1_000
const TICK_MS = 100
/**
 * The number of silent ticks from which on no new answer is started beyond the queries that are running: it would only lengthen the
 * queue of a server that responds to nothing. Started answers keep waiting.
 */
const SLOW_TICKS = 5
/** The number of concurrent queries: fewer than the client's connections, so that pings do not wait; more would not be faster. */
const MAX_RUNNING = 8
/** The number of rounds of queued queries from which on no new answer is started. */
const CROWDED_TURNS = 16
/**
 * The milliseconds that a query has waited in the queue from which on no new answer is started: an answer that takes several queries
 * in a row would not be made before its deadline.
 */
const CROWDED_MS = 1_000
/** The maximum length of the queue. Started answers may exceed the crowded limit, but not this limit. */
const MAX_WAITING = 4_000

/**
 * Tracks whether the database is reachable. While it is not, queries fail immediately instead of waiting for a connection; a refused
 * connection is detected at once, silence after the deadline of a query. A busy database that responds to anything counts as reachable.
 * Temporary errors are thrown as DatabaseUnavailable; refused queries and other defects are thrown unchanged.
 */
export class AvailableDatabase implements QueryRunner {
  #connected = false
  #running = 0
  readonly #waiting: { readonly begin: () => void; readonly since: number }[] = []
  /** The controllers of all queries that are queued or running. */
  readonly #pending = new Set<AbortController>()
  #hasResponded = false
  #silentTicks = 0
  #timers: NodeJS.Timeout[] = []
  #closed = false
  #pinging: Promise<void> | undefined
  /**
   * The number of ticks without a response to pending queries or pings after which the database is unreachable: the deadline of a
   * query, so that no client waits longer for a frozen server, and a server that is short of processor time is not taken for one.
   * Ticks are counted instead of time because this process may itself be late: whatever has arrived is read between two ticks.
   */
  readonly #silentTicksMost: number

  /** @param deadlineMs the maximum time of a query, including its time in the queue, in milliseconds. */
  constructor(
    private readonly db: Queries & Pick<Database, 'ping'>,
    private readonly logger: Logger,
    private readonly deadlineMs = ANSWER_DEADLINE_MS,
  ) {
    this.#silentTicksMost = Math.ceil(deadlineMs / TICK_MS)
  }

  get connected(): boolean {
    return this.#connected
  }

  get isCrowded(): boolean {
    const [first] = this.#waiting
    if (first === undefined) return false
    if (this.#silentTicks >= SLOW_TICKS) return true
    return this.#waiting.length >= CROWDED_TURNS * MAX_RUNNING || performance.now() - first.since > CROWDED_MS
  }

  /** The number of running queries, each on a connection of its own. */
  get running(): number {
    return this.#running
  }

  /** Starts tracking. Resolves after the first ping. */
  async start(): Promise<void> {
    await this.ping()
    if (this.#closed) return
    const repeat = (everyMs: number, check: () => void): NodeJS.Timeout => setInterval(check, everyMs).unref()
    this.#timers = [repeat(TICK_MS, () => this.#tick()), repeat(PING_EVERY_MS, () => void this.ping())]
  }

  /** Stops tracking and fails all pending queries. */
  close(): void {
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#abortAll('the explorer is stopping')
  }

  query<T>(sql: string, params?: Readonly<Record<string, unknown>>, signal?: CancelSignal): Promise<T[]> {
    return this.#query(this.db, (options) => this.db.query<T>(sql, params, options), sql, signal)
  }

  bytes(sql: string, params?: Readonly<Record<string, unknown>>, signal?: CancelSignal): Promise<Buffer> {
    return this.#query(this.db, (options) => this.db.bytes(sql, params, options), sql, signal)
  }

  /** Returns a runner for another database of the server. Both share the reachability and the queue. */
  on(db: Queries): QueryRunner {
    const isConnected = (): boolean => this.#connected
    const isCrowded = (): boolean => this.isCrowded
    return {
      get connected() {
        return isConnected()
      },
      get isCrowded() {
        return isCrowded()
      },
      query: <T>(sql: string, params?: Readonly<Record<string, unknown>>, signal?: CancelSignal) =>
        this.#query(db, (options) => db.query<T>(sql, params, options), sql, signal),
      bytes: (sql, params, signal) =>
        this.#query(db, (options) => db.bytes(sql, params, options), sql, signal),
    }
  }

  /** @param run sends the query to the database. @param sql the query, for the log. */
  async #query<T>(
    db: Queries,
    run: (options: QueryOptions) => Promise<T>,
    sql: string,
    signal: CancelSignal | undefined,
  ): Promise<T> {
    if (!this.#connected) throw new DatabaseUnavailable('database unreachable')
    signal?.throwIfAborted()
    const controller = new AbortController()
    const cancel = (): void => {
      controller.abort(signal?.reason)
    }
    const timer = setTimeout(() => {
      controller.abort(new DatabaseUnavailable('query timed out'))
    }, this.deadlineMs)
    signal?.addEventListener('abort', cancel)
    this.#pending.add(controller)
    try {
      await this.#acquire(controller.signal)
      try {
        return await this.#run(db, run, sql, controller.signal)
      } finally {
        this.#running--
        this.#waiting.shift()?.begin()
      }
    } finally {
      this.#pending.delete(controller)
      signal?.removeEventListener('abort', cancel)
      clearTimeout(timer)
    }
  }

  /** Waits until one more query may run, and counts it as running. Rejects with the signal's reason. */
  async #acquire(signal: AbortSignal): Promise<void> {
    if (this.#running < MAX_RUNNING) {
      this.#running++
      return
    }
    if (this.#waiting.length >= MAX_WAITING) throw new DatabaseUnavailable('too many queries are waiting')
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        this.#running++
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const waiting = { begin, since: performance.now() }
      const giveUp = (): void => {
        const index = this.#waiting.indexOf(waiting)
        if (index >= 0) this.#waiting.splice(index, 1)
        reject(signal.reason as Error)
      }
      this.#waiting.push(waiting)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  async #run<T>(
    db: Queries,
    run: (options: QueryOptions) => Promise<T>,
    sql: string,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      const rows = await run({ signal })
      this.#hasResponded = true
      return rows
    } catch (error) {
      if (error instanceof QueryRefused) this.#hasResponded = true
      if (signal.aborted) throw signal.reason
      if (!(await isPassing(error, db))) throw error
      this.logger.warn({ err: error, sql: sql.slice(0, 200) }, 'query failed')
      void this.ping()
      throw new DatabaseUnavailable('query failed', { cause: error })
    }
  }

  /** Checks whether the database is reachable. Concurrent calls share one ping. Never rejects. */
  ping(): Promise<void> {
    this.#pinging ??= this.#probe().finally(() => {
      this.#pinging = undefined
    })
    return this.#pinging
  }

  async #probe(): Promise<void> {
    const deadline = AbortSignal.timeout(this.#connected ? this.deadlineMs : PING_DEADLINE_MS)
    const answered = await this.db.ping({ signal: deadline }).catch(() => false)
    if (answered) this.#hasResponded = true
    if (answered === this.#connected || this.#closed) return
    if (answered) this.#setReachable()
    // A database that is only late may be busy with queries that it answers; `#tick` decides.
    else if (!deadline.aborted) this.#setUnreachable('it refuses connections')
  }

  #tick(): void {
    if (this.#hasResponded) this.#silentTicks = 0
    else if (this.#running > 0 || this.#pinging !== undefined) this.#silentTicks++
    this.#hasResponded = false
    if (this.#connected && this.#silentTicks >= this.#silentTicksMost)
      this.#setUnreachable('it does not respond')
  }

  #setReachable(): void {
    this.#connected = true
    this.#silentTicks = 0
    this.logger.info({}, 'database reachable')
  }

  #setUnreachable(why: string): void {
    this.#connected = false
    this.logger.warn({ why, running: this.#running, waiting: this.#waiting.length }, 'database unreachable')
    this.#abortAll('the database became unreachable')
  }

  #abortAll(why: string): void {
    const reason = new DatabaseUnavailable(why)
    // A copy: a query that ends starts the next one of the queue, which is aborted in its turn.
    for (const controller of [...this.#pending]) controller.abort(reason)
  }
}

/** Returns whether a query may succeed later: the database is unreachable, or its tables are being created. */
async function isPassing(error: unknown, db: Queries): Promise<boolean> {
  if (error instanceof DatabaseUnavailable) return true
  return error instanceof TableMissing && !(await isCreated(db).catch(() => false))
}
