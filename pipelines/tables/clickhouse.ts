import { Readable } from 'node:stream'
import { type ClickHouseClient, ClickHouseError, createClient } from '@clickhouse/client'
import { coded, Defect, isDefect, type ErrorCode } from '../errors.js'
import { RUN_AND_LOST, whileRunLostNothing } from './lost-writes.js'
import { type Columns, type EncodedRows, structureOf } from './rowbinary.js'

/** Thrown if the server is unreachable, sends an invalid response, or refuses a query temporarily: retry later. */
export class DatabaseUnavailable extends coded('HW_DATABASE_UNAVAILABLE') {}

/** Thrown if the server refuses a query permanently: a retry does not help. */
export class QueryRefused extends coded<ErrorCode, Defect>('HW_QUERY_REFUSED', Defect) {}

/** Thrown if a database, table or column does not exist: at the first start and during an upgrade it may not be created yet. */
export class TableMissing extends coded('HW_TABLE_MISSING', QueryRefused) {}

/** Codes for an unknown column (which a later migration adds), table, and database. */
const UNKNOWN_CODES: readonly string[] = ['47', '60', '81']

/** Codes of errors that are caused by the state of the server, its disk or its cluster, and not by the query. */
const PASSING_CODES: ReadonlySet<string> = new Set(
  [
    // Limits of time, memory, threads, quotas, and concurrent work.
    [159, 173, 201, 202, 241, 252, 364, 394, 439, 473, 574, 692, 700, 749, 762, 776],
    // Disk: failed writes and reads, also in RocksDB and in the C++ library.
    [74, 75, 76, 77, 87, 204, 231, 243, 294, 425, 499, 555, 586, 1001],
    // Network errors on the server.
    [95, 96, 198, 203, 209, 210, 279, 1000],
    // Keeper, replicas, tables that are starting or moving.
    [225, 236, 242, 244, 254, 255, 265, 285, 286, 289, 319, 341, 369, 373, 384, 904, 999],
  ]
    .flat()
    .map(String),
)

/** Text of the error that Poco, the server's HTTP library, returns for a form that it refuses: plain text with code 1000. */
const FORM_REFUSED = 'HTML Form Exception'

/**
 * The maximum length of all parameters of a query, percent-encoded; the server accepts 131,072 characters for one. Lists that
 * grow with the data are passed by `queryByKeys`.
 */
const MAX_PARAMS = 120_000
/** The maximum length of a query. A filter lists the hash of every block above the final height. */
const MAX_QUERY_BYTES = 64 * 2 ** 20

/** The size up to which the server keeps a response of `bytes` in memory before it sends it; it writes the rest to disk. */
const RESPONSE_BYTES = String(8 * 2 ** 20)

export interface DatabaseOptions {
  readonly url: string
  readonly database: string
  /** Timeout of a query in milliseconds, on the server and for the HTTP request. */
  readonly timeoutMs?: number
  /** Called after each insert, with its duration. */
  readonly onInsert?: (table: string, rows: number, seconds: number) => void
  /** ClickHouse settings for every query, in addition to the default ones. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface QueryOptions {
  /** Cancels the query, on the server too. */
  readonly signal?: AbortSignal
}

/** A ClickHouse database, embedded or not. No other file imports the driver. */
export class Database {
  readonly #client: ClickHouseClient
  readonly #options: DatabaseOptions
  readonly name: string
  /** The run of the embedded engine in which this process began to write; empty for other servers. */
  #run = ''

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.name = options.database
    this.#client = connect(options, options.database)
  }

  /** Returns a database of the same server, which may be the same one, with its own connections and, if given, its own settings. */
  sibling(database: string, settings?: DatabaseOptions['settings']): Database {
    return new Database({ ...this.#options, database, ...(settings === undefined ? {} : { settings }) })
  }

  /**
   * Returns rows as objects; 64-bit integers are strings.
   * @throws DatabaseUnavailable, QueryRefused; the reason of the signal if it aborts.
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
        // When a client disconnects, the server cancels only read-only queries.
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
   * Returns rows in the format RowBinary, for `Selection.bytesByKeys`: neither side converts them to text and back. For results that
   * fit into memory.
   * @throws DatabaseUnavailable, QueryRefused; the reason of the signal if it aborts.
   */
  async bytes(
    sql: string,
    params: Readonly<Record<string, unknown>> = {},
    { signal }: QueryOptions = {},
  ): Promise<Buffer> {
    assertQuerySize(sql, params)
    return withKnownErrors(async () => {
      const { stream } = await this.#client.exec({
        query: `${sql} FORMAT RowBinary`,
        query_params: params,
        clickhouse_settings: {
          // An error must not follow the first rows, because it would be read as rows.
          wait_end_of_query: 1,
          http_response_buffer_size: RESPONSE_BYTES,
          ...(signal === undefined ? {} : { readonly: '2' }),
        },
        ...(signal === undefined ? {} : { abort_signal: signal }),
      })
      const bytes = collect(stream)
      if (signal === undefined) return bytes
      const close = (): void => {
        stream.destroy()
      }
      return untilAborted(bytes, close, signal)
    })
  }

  /**
   * Inserts rows in one block. Resolves when they are as durable as the settings of the table require.
   * @param condition SQL, evaluated by the server when the rows arrive; if it is false, no row is written.
   * @throws DatabaseUnavailable also if fewer rows were written than sent; QueryRefused.
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

  /**
   * Remembers the current run of the embedded engine. Everything that is written from here on depends on rows of this run.
   * @throws DatabaseUnavailable also if the run has lost writes already.
   */
  async pinEngineRun(): Promise<void> {
    this.#run = await this.#intactRun().catch((error: unknown) => {
      // Not every user of a server may read its system tables; every user of the embedded engine may.
      if (error instanceof QueryRefused) return ''
      throw error
    })
  }

  /** SQL condition for inserts: no write was lost since `pinEngineRun`. The server evaluates it when the rows arrive. */
  get whileNothingLost(): string {
    return whileRunLostNothing(this.#run)
  }

  /**
   * Checks that no acknowledged write was lost since `pinEngineRun`. Call it after the writes that must not be lost.
   * @throws DatabaseUnavailable if writes were lost, or the engine was restarted.
   */
  async assertNoLostWrites(): Promise<void> {
    if (this.#run === '' || (await this.#intactRun()) === this.#run) return
    throw new DatabaseUnavailable('the engine was restarted: unwritten rows are lost')
  }

  /** Returns the current run, empty if the server is not the embedded engine. @throws DatabaseUnavailable if it lost writes. */
  async #intactRun(): Promise<string> {
    const [row] = await this.query<{ run: string; lost: string }>(RUN_AND_LOST)
    if (row === undefined || (row.run !== '' && row.lost !== '0'))
      throw new DatabaseUnavailable('the disk refused writes of the engine: the engine must be restarted')
    return row.run
  }

  /** Runs a statement that returns no rows. @throws DatabaseUnavailable, QueryRefused. */
  async command(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<void> {
    assertQuerySize(sql, params)
    await withKnownErrors(() => this.#client.command({ query: sql, query_params: params }))
  }

  /** Creates the database if it does not exist. @throws DatabaseUnavailable, QueryRefused. */
  async createIfAbsent(): Promise<void> {
    const client = connect(this.#options, 'default')
    try {
      await withKnownErrors(() => client.command({ query: `CREATE DATABASE IF NOT EXISTS ${this.name}` }))
    } finally {
      await client.close()
    }
  }

  /** Returns whether the server responds; false if the signal aborts first. */
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

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

/** Waits for a result whose first bytes have arrived: from then on the driver ignores the signal that was passed to it. */
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
    // The server closes idle connections after 10 s; a connection that is about to be closed must not be reused.
    keep_alive: { enabled: true, idle_socket_ttl: 2500 },
    log: { LoggerClass: SilentLogger },
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 0,
      output_format_json_quote_64bit_integers: 1,
      max_query_size: String(MAX_QUERY_BYTES),
      max_execution_time: Math.ceil(timeoutMs / 1000),
      cancel_http_readonly_queries_on_client_close: 1,
      // Queries with a higher number wait for those with a lower one.
      priority: '1',
      ...settings,
    },
  })
}

const quiet = (): void => undefined

/** A logger for the driver that discards everything: its messages repeat our errors. */
class SilentLogger {
  readonly trace = quiet
  readonly debug = quiet
  readonly info = quiet
  readonly warn = quiet
  readonly error = quiet
}

/** @throws QueryRefused for a query that is too long for the server; the message says what to use instead. */
function assertQuerySize(sql: string, params: Readonly<Record<string, unknown>>): void {
  const lengthOf = (text: string): number =>
    text.length > MAX_PARAMS ? text.length : encodeURIComponent(text).length
  const given = Object.values(params).reduce((sum: number, value) => sum + lengthOf(String(value)), 0)
  if (given > MAX_PARAMS)
    throw new QueryRefused(
      `the parameters have ${String(given)} characters, at most ${String(MAX_PARAMS)} are allowed: use queryByKeys, which splits the keys`,
    )
  if (sql.length > MAX_QUERY_BYTES)
    throw new QueryRefused(
      `the query has ${String(sql.length)} characters, at most ${String(MAX_QUERY_BYTES)} are allowed`,
    )
}

/** Runs a request and classifies errors of the driver: temporary ones and refusals. Errors of this program are rethrown. */
async function withKnownErrors<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    // A SyntaxError is not ours: the only JSON that the driver parses is the server's response.
    if (error instanceof DatabaseUnavailable || (isDefect(error) && !(error instanceof SyntaxError)))
      throw error
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof ClickHouseError ? !PASSING_CODES.has(error.code) : message.includes(FORM_REFUSED)) {
      const isUnknown = error instanceof ClickHouseError && UNKNOWN_CODES.includes(error.code)
      throw new (isUnknown ? TableMissing : QueryRefused)(message, { cause: error })
    }
    throw new DatabaseUnavailable(message, { cause: error })
  }
}
