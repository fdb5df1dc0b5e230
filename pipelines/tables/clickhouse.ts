import { Readable } from 'node:stream'
import { type ClickHouseClient, ClickHouseError, createClient } from '@clickhouse/client'
import { coded, Defect, isDefect, type ErrorCode } from '../errors.js'
import { RUN_AND_LOST, whileRunLostNothing } from './lost-writes.js'
import { type Columns, type EncodedRows, structureOf } from './rowbinary.js'

/** The server cannot be reached, did not answer as a server in order does, or refuses for now: try again later. */
export class DatabaseUnavailable extends coded('HW_DATABASE_UNAVAILABLE') {}

/** The server refused what it was asked: trying the same again would not help. */
export class QueryRefused extends coded<ErrorCode, Defect>('HW_QUERY_REFUSED', Defect) {}

/** What was asked for has not been made yet: at a first start, or an upgrade, the tables are made while others look for them. */
export class NotThere extends coded('HW_TABLE_MISSING', QueryRefused) {}

/** Of a column, which a later migration adds, a table, and a database. */
const UNKNOWN_CODES: readonly string[] = ['47', '60', '81']

/** Errors by which a server, its disk or its cluster says that it is not in order, rather than that the query is wrong. */
const PASSING_CODES: ReadonlySet<string> = new Set(
  [
    // Time, memory, threads, quotas, and how much is under way.
    [159, 173, 201, 202, 241, 252, 364, 394, 439, 473, 574, 692, 700, 749, 762, 776],
    // Disk: refused writes and reads, also of RocksDB, and of the C++ library.
    [74, 75, 76, 77, 87, 204, 231, 243, 294, 425, 499, 555, 586, 1001],
    // Network, as the server sees it.
    [95, 96, 198, 203, 209, 210, 279, 1000],
    // Keeper, replicas, tables that start or are moved.
    [225, 236, 242, 244, 254, 255, 265, 285, 286, 289, 319, 341, 369, 373, 384, 904, 999],
  ]
    .flat()
    .map(String),
)

/** What Poco, the server's HTTP library, says of a form that it will not read: a plain text with code 1000. */
const FORM_REFUSED = 'HTML Form Exception'

/** Characters of a query's parameters, percent-encoded: the server takes 131,072 for one. What grows with the data is asked with `queryByKeys`. */
const MOST_PARAMS = 120_000
/** Of a query's text. A filter lists the hash of every block above the final height. */
const MOST_QUERY_BYTES = 64 * 2 ** 20

export interface DatabaseOptions {
  readonly url: string
  readonly database: string
  /** Milliseconds that a query may take, on the server and on the way. */
  readonly timeoutMs?: number
  /** Called when rows were inserted, with how long that took. */
  readonly onInsert?: (table: string, rows: number, seconds: number) => void
  /** Settings of ClickHouse for every query, beside those of all. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface QueryOptions {
  /** Ends the query on the server too. */
  readonly signal?: AbortSignal
}

/** A ClickHouse database, embedded or not. The only place that knows the driver. */
export class Database {
  readonly #client: ClickHouseClient
  readonly #options: DatabaseOptions
  readonly name: string
  /** Of the embedded engine: the run in which this process began to write; empty for other servers. */
  #run = ''

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.name = options.database
    this.#client = connect(options, options.database)
  }

  /** Another database of the same server, or the same one, with connections and, where given, settings of its own. */
  sibling(database: string, settings?: DatabaseOptions['settings']): Database {
    return new Database({ ...this.#options, database, ...(settings === undefined ? {} : { settings }) })
  }

  /**
   * Rows as objects; 64-bit integers come as strings.
   * @throws DatabaseUnavailable, QueryRefused; the reason of the signal where it aborted.
   */
  async query<T>(
    sql: string,
    params: Readonly<Record<string, unknown>> = {},
    { signal }: QueryOptions = {},
  ): Promise<T[]> {
    assertQuerySize(sql, params)
    return withKnownErrors(async () => {
      const result = await this.#client.query({
        query: sql,
        format: 'JSONEachRow',
        query_params: params,
        // A server cancels only what cannot write when its client hangs up.
        ...(signal === undefined ? {} : { abort_signal: signal, clickhouse_settings: { readonly: '2' } }),
      })
      const rows = result.json<T>()
      if (signal === undefined) return rows
      const close = (): void => {
        result.close()
      }
      return untilAborted(rows, close, signal)
    })
  }

  /**
   * Inserts rows in one block. Resolves when the server has them on disk as its table says.
   * @param condition for the server, looked at when the rows arrive; where it does not hold none is written.
   * @throws DatabaseUnavailable, also when fewer rows were written than sent.
   */
  async insert<C extends Columns>(rows: EncodedRows<C>, condition?: string): Promise<void> {
    if (rows.length === 0) return
    const { table, parts } = rows
    const columns = Object.keys(table.columns).join(', ')
    const source =
      condition === undefined
        ? ''
        : `SELECT ${columns} FROM input('${structureOf(table)}') WHERE ${condition}`
    const beganAt = performance.now()
    await withKnownErrors(async () => {
      const { stream, summary } = await this.#client.exec({
        query: `INSERT INTO ${table.name} (${columns}) ${source} FORMAT RowBinary`,
        values: Readable.from(parts, { objectMode: false }),
        clickhouse_settings: { wait_end_of_query: 1 },
      })
      for await (const chunk of stream) void chunk
      const written = summary?.written_rows
      if (written !== undefined && Number(written) !== rows.length) {
        throw new DatabaseUnavailable(`${table.name}: ${written} of ${String(rows.length)} rows were written`)
      }
    })
    this.#options.onInsert?.(table.name, rows.length, (performance.now() - beganAt) / 1000)
  }

  /** Takes what the server holds now for the ground of all that is written from here on. @throws DatabaseUnavailable. */
  async pinEngineRun(): Promise<void> {
    this.#run = await this.#soundRun().catch((error: unknown) => {
      // Not every user of a server may read its system tables; the embedded engine refuses nobody.
      if (error instanceof QueryRefused) return ''
      throw error
    })
  }

  /** A condition for inserts: nothing was lost since `rely`. The server looks when the rows arrive. */
  get whileNothingLost(): string {
    return whileRunLostNothing(this.#run)
  }

  /** Ask when a server has acknowledged what must not be lost. @throws DatabaseUnavailable where it may be, since `rely`. */
  async assertNoLostWrites(): Promise<void> {
    if (this.#run === '' || (await this.#soundRun()) === this.#run) return
    throw new DatabaseUnavailable('the engine was restarted: unwritten rows are lost')
  }

  /** @throws DatabaseUnavailable where it lost something; QueryRefused. */
  async #soundRun(): Promise<string> {
    const [row] = await this.query<{ run: string; lost: string }>(RUN_AND_LOST)
    if (row === undefined || (row.run !== '' && row.lost !== '0'))
      throw new DatabaseUnavailable('the disk refused writes of the engine: the engine must be restarted')
    return row.run
  }

  /** @throws DatabaseUnavailable, QueryRefused. */
  async command(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<void> {
    assertQuerySize(sql, params)
    await withKnownErrors(() => this.#client.command({ query: sql, query_params: params }))
  }

  /** @throws DatabaseUnavailable. */
  async createIfAbsent(): Promise<void> {
    const client = connect(this.#options, 'default')
    try {
      await withKnownErrors(() => client.command({ query: `CREATE DATABASE IF NOT EXISTS ${this.name}` }))
    } finally {
      await client.close()
    }
  }

  /** Whether the server answers at all; false where the signal aborts first. */
  async ping({ signal }: QueryOptions = {}): Promise<boolean> {
    const { success } = await this.#client.ping({
      select: false,
      ...(signal === undefined ? {} : { abort_signal: signal }),
    })
    return success
  }

  async close(): Promise<void> {
    await this.#client.close()
  }
}

/** Waits for a result whose first bytes have come: from there on the driver does not heed the signal that it was given. */
async function untilAborted<T>(result: Promise<T>, close: () => void, signal: AbortSignal): Promise<T> {
  let giveUp = close
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => {
      reject(signal.reason as Error)
      close()
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp)
  })
  try {
    return await Promise.race([result, aborted])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

function connect({ url, timeoutMs = 60_000, settings }: DatabaseOptions, database: string): ClickHouseClient {
  return createClient({
    url,
    database,
    request_timeout: timeoutMs,
    max_open_connections: 16,
    compression: { request: false, response: false },
    // The server closes idle connections after 10 s; one that is about to be closed must not be taken.
    keep_alive: { enabled: true, idle_socket_ttl: 2500 },
    log: { LoggerClass: SilentLogger },
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 0,
      output_format_json_quote_64bit_integers: 1,
      max_query_size: String(MOST_QUERY_BYTES),
      max_execution_time: Math.ceil(timeoutMs / 1000),
      cancel_http_readonly_queries_on_client_close: 1,
      // Those of a larger number wait for it.
      priority: '1',
      ...settings,
    },
  })
}

const quiet = (): void => undefined

/** The driver's own messages repeat what our errors tell. */
class SilentLogger {
  readonly trace = quiet
  readonly debug = quiet
  readonly info = quiet
  readonly warn = quiet
  readonly error = quiet
}

/** @throws QueryRefused for what the server would not take, in words that name the way that it would. */
function assertQuerySize(sql: string, params: Readonly<Record<string, unknown>>): void {
  const lengthOf = (text: string): number =>
    text.length > MOST_PARAMS ? text.length : encodeURIComponent(text).length
  const given = Object.values(params).reduce((sum: number, value) => sum + lengthOf(String(value)), 0)
  if (given > MOST_PARAMS)
    throw new QueryRefused(
      `parameters of ${String(given)} characters, at most ${String(MOST_PARAMS)}: use queryByKeys, which splits the keys`,
    )
  if (sql.length > MOST_QUERY_BYTES)
    throw new QueryRefused(`a query of ${String(sql.length)} characters, at most ${String(MOST_QUERY_BYTES)}`)
}

/** Sorts the failures of what is asked of the driver: passing ones, refusals, and our own errors, which stay what they are. */
async function withKnownErrors<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    // Of JSON the driver reads what the server sent, and nothing else.
    if (error instanceof DatabaseUnavailable || (isDefect(error) && !(error instanceof SyntaxError)))
      throw error
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof ClickHouseError ? !PASSING_CODES.has(error.code) : message.includes(FORM_REFUSED)) {
      const isUnknown = error instanceof ClickHouseError && UNKNOWN_CODES.includes(error.code)
      throw new (isUnknown ? NotThere : QueryRefused)(message, { cause: error })
    }
    throw new DatabaseUnavailable(message, { cause: error })
  }
}
