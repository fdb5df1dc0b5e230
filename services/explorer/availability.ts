import type { Logger } from '../../pipelines/logger.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'

/** The database cannot be asked now; told to clients as 503. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

const PING_EVERY_MS = 500
/** A frozen server answers nothing, which only a deadline shows; a busy one takes its time. */
const PING_DEADLINE_MS = 3_000
const QUERY_DEADLINE_MS = 10_000
/** Less than the client's connections, so that looks need not queue behind queries; more would not be faster. */
const MOST_RUNNING = 8
/** Beyond it the database is as good as away: answering at once is kinder than answering late. */
const MOST_WAITING = 4_000

/**
 * The database as reads see it: knows whether it is there, so that a read of a database that is away fails at once instead of
 * waiting for a connection. Any failure of a query is told as Unavailable.
 */
export class AvailableDatabase {
  #connected = false
  #running = 0
  readonly #waiting: (() => void)[] = []
  #away = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #pinging: Promise<void> | undefined

  constructor(
    private readonly db: Database,
    private readonly logger: Logger,
  ) {}

  get connected(): boolean {
    return this.#connected
  }

  /** Queries on their way, each on a connection of the client's pool. */
  get running(): number {
    return this.#running
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    await this.ping()
    this.#again()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  /** @throws Unavailable. */
  async query<T>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<T[]> {
    if (!this.#connected) throw new Unavailable('the database is away')
    await this.#turn()
    try {
      return await this.#ask<T>(sql, params)
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  /** Resolves when there is a connection for one more query, which is then counted as running. */
  async #turn(): Promise<void> {
    if (this.#running < MOST_RUNNING) {
      this.#running++
      return
    }
    if (this.#waiting.length >= MOST_WAITING) throw new Unavailable('too many queries are waiting')
    await new Promise<void>((resolve) => {
      this.#waiting.push(() => {
        this.#running++
        resolve()
      })
    })
  }

  async #ask<T>(sql: string, params: Readonly<Record<string, unknown>>): Promise<T[]> {
    // It may have gone while this query waited its turn.
    if (!this.#connected) throw new Unavailable('the database is away')
    const deadline = new AbortController()
    const timer = setTimeout(() => {
      deadline.abort()
    }, QUERY_DEADLINE_MS)
    try {
      const signal = AbortSignal.any([deadline.signal, this.#away.signal])
      return await this.db.query<T>(sql, params, { signal })
    } catch (error) {
      this.logger.warn({ err: error, sql: sql.slice(0, 200) }, 'a query failed')
      void this.ping()
      throw new Unavailable('a query failed', { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  /** Looks whether the database answers; looks of the same moment are one. */
  ping(): Promise<void> {
    this.#pinging ??= this.#look().finally(() => {
      this.#pinging = undefined
    })
    return this.#pinging
  }

  async #look(): Promise<void> {
    const answered = await answersInTime(this.db)
    if (answered === this.#connected || this.#closed) return
    this.#connected = answered
    if (answered) {
      this.#away = new AbortController()
      this.logger.info({}, 'the database answers')
      return
    }
    this.logger.warn({}, 'the database is away')
    this.#away.abort(new Unavailable('the database went away'))
  }

  #again(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      void this.ping().finally(() => {
        this.#again()
      })
    }, PING_EVERY_MS)
    this.#timer.unref()
  }
}

async function answersInTime(db: Database): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => {
      resolve(false)
    }, PING_DEADLINE_MS)
  })
  const answer = Promise.resolve(db.ping()).then(
    (said: unknown) => said !== false,
    () => false,
  )
  return Promise.race([answer, late]).finally(() => {
    clearTimeout(timer)
  })
}
