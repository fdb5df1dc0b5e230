import { Readable } from 'node:stream'
import { type ClickHouseClient, ClickHouseError, createClient, parseError } from '@clickhouse/client'
import { coded, Defect, isDefect, type ErrorCode } from '../errors.js'
import { Servers } from './connection/servers.js'
import { Transport } from './connection/transport.js'
import { RUN_AND_LOST, whileRunLostNothing } from './lost-writes.js'
import { type Columns, type EncodedRows, structureOf } from './rowbinary.js'

/** Thrown if the server is unreachable, sends an invalid response, or refuses a query temporarily: retry later. */
export class DatabaseUnavailable extends coded('HW_DATABASE_UNAVAILABLE') {}

/** Thrown if the server refuses a query permanently: a retry does not help. */
export class QueryRefused extends coded<ErrorCode, Defect>('HW_QUERY_REFUSED', Defect) {}

/** Thrown if a database, table or column does not exist: at the first start it may not be created yet. */
export class TableMissing extends coded('HW_TABLE_MISSING', QueryRefused) {}

/** Codes for an unknown column (of another schema), table, and database. */
const UNKNOWN_CODES: readonly string[] = ['47', '60', '81']

/** Codes of errors that are caused by the state of the server, its disk or its cluster, and not by the query. */
const PASSING_CODES: ReadonlySet<string> = new Set(
  [
    // Limits of time, memory, threads, quotas, and concurrent work.
    [159, 173, 201, 202, 241, 252, 364, 394, 439, 473, 574, 692, 700, 749, 762, 776],
    // Disk: failed writes and reads, also in RocksDB and in the C++ library.
    [74, 75, 76, 77, 87, 204, 231, 243, 294, 425, 499, 555, 586, 1001],
    // Network errors on the server. 100, 102: packets out of order on a connection to a shard, as after an interrupted query.
    [95, 96, 100, 102, 198, 203, 209, 210, 279, 1000],
    // Keeper, replicas, tables that are starting or moving.
    [225, 236, 242, 244, 254, 255, 265, 285, 286, 289, 319, 341, 369, 373, 384, 904, 999],
  ]
    .flat()
    .map(String),
)

/** Those of them that another replica may not have: of Keeper, of a replica that lags, and of a server that shuts down. */
const SERVER_CODES: ReadonlySet<string> = new Set([225, 236, 242, 289, 369, 394, 999].map(String))

/**
 * Text of the error of a server that loses the connection to a shard in the middle of an answer. The error's code does not
 * distinguish it: any input that ends too early has this code.
 */
const SHARD_LOST = 'while receiving packet from'

/** Text of the error that Poco, the server's HTTP library, returns for a form that it refuses: plain text with code 1000. */
const FORM_REFUSED = 'HTML Form Exception'

/**
 * The maximum length of all parameters of a query, percent-encoded; the server accepts 131,072 characters for one. Lists that
 * grow with the data are passed by `queryByKeys`.
 */
const MAX_PARAMS = 120_000
/** The maximum length of a query. A filter lists the hash of every block above the final height. */
const MAX_QUERY_BYTES = 64 * 2 ** 20

/** Settings of queries over distributed tables; they have no effect on other ones. */
const SHARD_SETTINGS = {
  // A query for rows of some keys goes only to their shards.
  optimize_skip_unused_shards: 1,
  // An insert returns when all shards have its rows.
  distributed_foreground_insert: 1,
  // A set of a subquery, or the right side of a join, is computed once and sent to the shards.
  distributed_product_mode: 'global',
  // Rows that are selected from one table into another may belong to another shard.
  parallel_distributed_insert_select: '0',
  skip_unavailable_shards: 0,
} as const

/** The default of `DatabaseOptions.silentMs`: a server that is short of processor time may be silent for a second or two. */
const SILENT_MS = 5_000

/** The size up to which the server keeps a response in memory before it sends it; it writes the rest to disk. */
const RESPONSE_BYTES = String(8 * 2 ** 20)

/** Settings of inserts of whole files: blocks of bounded size, and any number of partitions in each. */
const IMPORT_SETTINGS = {
  min_insert_block_size_bytes: String(64 * 2 ** 20),
  max_partitions_per_insert_block: '0',
} as const

export interface DatabaseOptions {
  /** URLs of servers with the same data, comma-separated, the preferred server first; or of a single server. */
  readonly url: string
  readonly database: string
  /** Timeout of a query in milliseconds, on the server and for the HTTP request. */
  readonly timeoutMs?: number
  /**
   * Milliseconds after which a silent server is left for another one. Not set: 5,000. Reads of clients move earlier; a write is not
   * repeated elsewhere, so its process waits for a server that is only busy.
   */
  readonly silentMs?: number
  /** Called after each insert, with its duration. */
  readonly onInsert?: (table: string, rows: number, seconds: number) => void
  /** Called after the move from a server that failed to another one, with its URL without credentials. */
  readonly onMove?: (url: string) => void
  /** ClickHouse settings for every query, in addition to the default ones. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface QueryOptions {
  /** Cancels the query, on the server too. */
  readonly signal?: AbortSignal
}

/** The servers that a database and its siblings share. */
interface Shared {
  readonly servers: Servers
  /** The newest head that this process has read or written, of the database that it used last. */
  head: { readonly database: string; readonly position: number } | undefined
  close(): Promise<void>
}

/** A ClickHouse database, embedded or not. No other file imports the driver. */
export class Database {
  /** A client for each server. */
  readonly #clients: readonly ClickHouseClient[]
  readonly #shared: Shared
  readonly #isSibling: boolean
  readonly #options: DatabaseOptions
  readonly name: string
  /** The run of the embedded engine in which this process began to write; empty for other servers. */
  #run = ''
  #isSharded = false

  constructor(options: DatabaseOptions, shared?: Shared) {
    this.#options = options
    this.name = options.database
    this.#clients = urlsOf(options).map((url) => connect({ ...options, url }))
    this.#isSibling = shared !== undefined
    this.#shared = shared ?? sharedServers(options)
  }

  /** Returns a database of this server, or this database, with separate connections and, if given, separate settings. */
  sibling(database: string, settings?: DatabaseOptions['settings']): Database {
    const options = { ...this.#options, database, ...(settings === undefined ? {} : { settings }) }
    return new Database(options, this.#shared)
  }

  /** Returns the database on each server that the URL names, with connections of its own: close them. */
  eachServer(): Database[] {
    return urlsOf(this.#options).map((url) => new Database({ ...this.#options, url }))
  }

  /** True if its tables are distributed over shards, as `pinEngineRun` has found. */
  get isSharded(): boolean {
    return this.#isSharded
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
    return this.#read(`${sql} FORMAT JSONEachRow`, params, signal, (bytes) => {
      const lines = bytes.toString().split('\n')
      // Nothing follows the last line break.
      lines.pop()
      return lines.map((line) => JSON.parse(line) as T)
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
    return this.#read(`${sql} FORMAT RowBinary`, params, signal, (bytes) => bytes)
  }

  async #read<T>(
    query: string,
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
    parse: (response: Buffer) => T,
  ): Promise<T> {
    assertQuerySize(query, params)
    const read: Request<T> = async (client, ended) => {
      const { stream } = await client.exec({
        query,
        query_params: params,
        clickhouse_settings: {
          // An error must not follow the first rows, because it would be read as rows.
          wait_end_of_query: 1,
          http_response_buffer_size: RESPONSE_BYTES,
          // When a client disconnects, the server cancels only read-only queries.
          ...(signal === undefined ? {} : { readonly: '2' }),
        },
        ...(ended === undefined ? {} : { abort_signal: ended }),
      })
      return parse(await collect(stream))
    }
    return this.#send(read, () => true, signal)
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
    const write: Request<void> = async (client, ended) => {
      const { stream, response_headers: headers } = await client.exec({
        query: `INSERT INTO ${table.name} (${columns}) ${source} FORMAT RowBinary`,
        values: Readable.from(parts, { objectMode: false }),
        clickhouse_settings: { wait_end_of_query: 1 },
        ...(ended === undefined ? {} : { abort_signal: ended }),
      })
      for await (const chunk of stream) void chunk
      const count = countIn(headers['x-clickhouse-summary'], 'written_rows')
      // A distributed table counts rows of its own server twice.
      if (count !== undefined && count < rows.length) {
        throw new DatabaseUnavailable(
          `${table.name}: ${String(count)} of ${String(rows.length)} rows were written`,
        )
      }
    }
    await this.#send(write, wasNotSent)
    this.#options.onInsert?.(table.name, rows.length, (performance.now() - beganAt) / 1000)
  }

  /**
   * Returns the rows of a query as a file: in the format Native, compressed with zstd by the server, which has all of them before it
   * sends the first.
   * @returns the number of rows, and a stream that is to be read to its end.
   * @throws DatabaseUnavailable, QueryRefused; the stream fails if the connection does.
   */
  async exportRows(sql: string): Promise<{ readonly rows: number; readonly stream: Readable }> {
    const read: Request<{ rows: number; stream: Readable }> = async (client, ended) => {
      const { stream, response_headers: headers } = await client.exec({
        query: `${sql} FORMAT Native`,
        http_headers: { 'accept-encoding': 'zstd' },
        clickhouse_settings: {
          wait_end_of_query: 1,
          http_response_buffer_size: RESPONSE_BYTES,
          enable_http_compression: 1,
        },
        ...(ended === undefined ? {} : { abort_signal: ended }),
      })
      const rows = countIn(headers['x-clickhouse-summary'], 'result_rows')
      // Nothing is not compressed.
      if (rows === 0 || (rows !== undefined && headers['content-encoding'] === 'zstd'))
        return { rows, stream }
      stream.destroy()
      throw new DatabaseUnavailable(
        'the server does not report the number of rows, or does not compress them',
      )
    }
    return this.#send(read, () => true)
  }

  /**
   * Inserts the rows of a file that `exportRows` made. Resolves when they are as durable as the settings of the table require.
   * @param rows their number. @param into SQL of the insert, up to its format.
   * @throws DatabaseUnavailable also if fewer rows were written; QueryRefused, also for a file that is damaged.
   */
  async importRows(into: string, rows: number, file: Readable): Promise<void> {
    const write: Request<void> = async (client, ended) => {
      const { stream, response_headers: headers } = await client.exec({
        query: `${into} FORMAT Native`,
        values: file,
        http_headers: { 'content-encoding': 'zstd' },
        clickhouse_settings: { wait_end_of_query: 1, ...IMPORT_SETTINGS },
        ...(ended === undefined ? {} : { abort_signal: ended }),
      })
      for await (const chunk of stream) void chunk
      const written = countIn(headers['x-clickhouse-summary'], 'written_rows')
      if (written !== undefined && written < rows)
        throw new DatabaseUnavailable(`${String(written)} of ${String(rows)} rows were written`)
    }
    await this.#send(write, () => false)
  }

  /**
   * Remembers the current run of the embedded engine, and whether the tables are distributed over shards. Everything that is
   * written from here on depends on rows of this run.
   * @throws DatabaseUnavailable also if the run has lost writes already.
   */
  async pinEngineRun(): Promise<void> {
    // Not every user of a server may read its system tables; every user of the embedded engine may.
    const unlessRefused =
      <T>(instead: T) =>
      (error: unknown): T => {
        if (error instanceof QueryRefused) return instead
        throw error
      }
    this.#run = await this.#intactRun().catch(unlessRefused(''))
    const sql = `SELECT 1 FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed' LIMIT 1`
    this.#isSharded = (await this.query(sql).catch(unlessRefused([]))).length > 0
  }

  /**
   * Inserts rows that others depend on, such as a head, unless a write was lost since `pinEngineRun`, and checks that these were not
   * lost either.
   * @param condition SQL for what must hold besides.
   * @param insert inserts them under an SQL condition, which the server evaluates when they arrive.
   * @throws DatabaseUnavailable if writes were lost, or the engine was restarted; errors of the insert.
   */
  async guarded<T>(condition: string, insert: (condition: string) => Promise<T>): Promise<T> {
    const result = await insert(`${condition} AND ${whileRunLostNothing(this.#run)}`)
    await this.assertNoLostWrites()
    return result
  }

  /**
   * Checks that no acknowledged write was lost since `pinEngineRun`.
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
    const run: Request<unknown> = (client, ended) =>
      client.command({
        query: sql,
        query_params: params,
        ...(ended === undefined ? {} : { abort_signal: ended }),
      })
    await this.#send(run, wasNotSent)
  }

  /** Creates the database if it does not exist. @throws DatabaseUnavailable, QueryRefused. */
  async createIfAbsent(): Promise<void> {
    const server = this.sibling('default')
    try {
      await server.command(`CREATE DATABASE IF NOT EXISTS ${this.name}`)
    } finally {
      await server.close()
    }
  }

  /** Returns whether a server responds; false if the signal aborts first. */
  async ping({ signal }: QueryOptions = {}): Promise<boolean> {
    const ping: Request<boolean> = async (client, ended) => {
      const result = await pingOf(client, ended)
      if (!result.success && this.#clients.length > 1) throw result.error
      return result.success
    }
    return this.#send(ping, () => true, signal).catch((error: unknown) => {
      if (error instanceof DatabaseUnavailable || signal?.aborted === true) return false
      throw error
    })
  }

  /** Remembers a head that was read or written: the process does not move to a server that does not have it. */
  noteHead(position: number): void {
    const { head } = this.#shared
    if (head?.database === this.name && head.position >= position) return
    this.#shared.head = { database: this.name, position }
  }

  /**
   * Sends a request to the server in use, and to the next one if that fails and it may be repeated.
   * @throws DatabaseUnavailable, QueryRefused; the reason of the signal if it aborts.
   */
  #send<T>(request: Request<T>, mayRepeat: (error: unknown) => boolean, signal?: AbortSignal): Promise<T> {
    return this.#shared.servers.run(async (server, left) => {
      const ends = [signal, left].filter((each) => each !== undefined)
      const ended = ends.length > 1 ? AbortSignal.any(ends) : ends[0]
      try {
        return await withKnownErrors(() => request(this.#clients[server] as ClickHouseClient, ended))
      } catch (error) {
        signal?.throwIfAborted()
        throw error
      }
    }, mayRepeat)
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    if (!this.#isSibling) await this.#shared.close()
  }
}

/** A request to one server. @param ended aborts when the caller gives up, or the process moves to another server. */
type Request<T> = (client: ClickHouseClient, ended: AbortSignal | undefined) => Promise<T>

const urlsOf = ({ url }: Pick<DatabaseOptions, 'url'>): string[] => url.split(',').map((each) => each.trim())

const pingOf = (client: ClickHouseClient, signal?: AbortSignal): ReturnType<ClickHouseClient['ping']> =>
  client.ping({ select: false, ...(signal === undefined ? {} : { abort_signal: signal }) })

function sharedServers(options: DatabaseOptions): Shared {
  const urls = urlsOf(options)
  // A single server is never checked.
  const probes = urls.length === 1 ? [] : urls.map((url) => connect({ ...options, url, database: 'default' }))
  const servers = new Servers({
    count: urls.length,
    silentMs: options.silentMs ?? SILENT_MS,
    isOfServer,
    isResponse,
    onMove: (server) => options.onMove?.(new URL(urls[server] ?? '').origin),
    ping: async (server, signal) => (await pingOf(probes[server] as ClickHouseClient, signal)).success,
    isLevel: async (server, signal) => {
      const { head } = shared
      if (head === undefined) return true
      const query = `SELECT max(position) AS newest FROM ${head.database}.heads`
      const result = await probes[server]?.query({ query, format: 'JSONEachRow', abort_signal: signal })
      const [row] = (await result?.json<{ newest: string }>()) ?? []
      return Number(row?.newest ?? -1) >= head.position
    },
  })
  const shared: Shared = {
    servers,
    head: undefined,
    close: async () => {
      await Promise.all(probes.map((each) => each.close()))
    },
  }
  return shared
}

/** Returns whether an error is one of a server or of the connection to it, so that another server may not have it. */
function isOfServer(error: unknown): boolean {
  if (!(error instanceof DatabaseUnavailable) || error.cause === undefined) return false
  return !(error.cause instanceof ClickHouseError) || SERVER_CODES.has(error.cause.code)
}

const isResponse = (error: unknown): boolean =>
  error instanceof QueryRefused || (error as { cause?: unknown }).cause instanceof ClickHouseError

/** Returns whether a request has not reached a server, so that even a write may be repeated. */
function wasNotSent(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && (error.cause as { code?: unknown }).code === 'ECONNREFUSED'
}

/** Returns a number of rows that a server reports in the summary of a query, undefined if it reports none. */
function countIn(summary: unknown, name: 'written_rows' | 'result_rows'): number | undefined {
  if (typeof summary !== 'string') return undefined
  const rows = (JSON.parse(summary) as Partial<Record<typeof name, string>>)[name]
  return rows === undefined ? undefined : Number(rows)
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

function connect({ url, database, timeoutMs = 60_000, settings }: DatabaseOptions): ClickHouseClient {
  return createClient({
    url,
    database,
    connection: new Transport({ url, database, timeoutMs, refusal: parseError }),
    log: { LoggerClass: SilentLogger },
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 0,
      // Rows of an insert differ in their keys: a search for repeated ones takes a fifth of the time of a large insert.
      optimize_on_insert: 0,
      output_format_json_quote_64bit_integers: 1,
      // Most results are small, and the threads that would format them take a sixth of the processor time of a point read.
      output_format_parallel_formatting: 0,
      max_query_size: String(MAX_QUERY_BYTES),
      max_execution_time: Math.ceil(timeoutMs / 1000),
      cancel_http_readonly_queries_on_client_close: 1,
      ...SHARD_SETTINGS,
      // Queries with a higher number wait for queries with a lower number.
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
  const bytes = Object.values(params).reduce((sum: number, value) => sum + lengthOf(String(value)), 0)
  if (bytes > MAX_PARAMS)
    throw new QueryRefused(
      `the parameters have ${String(bytes)} characters, at most ${String(MAX_PARAMS)} are allowed: use queryByKeys, which splits the keys`,
    )
  if (sql.length > MAX_QUERY_BYTES)
    throw new QueryRefused(
      `the query has ${String(sql.length)} characters, at most ${String(MAX_QUERY_BYTES)} are allowed`,
    )
}

const isPassing = ({ code, message }: ClickHouseError): boolean =>
  PASSING_CODES.has(code) || message.includes(SHARD_LOST)

/** Runs a request and classifies errors of the driver: temporary ones and refusals. Errors of this program are rethrown. */
async function withKnownErrors<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    // A SyntaxError is not ours: the only JSON that is parsed here is the server's response.
    if (error instanceof DatabaseUnavailable || (isDefect(error) && !(error instanceof SyntaxError)))
      throw error
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof ClickHouseError ? !isPassing(error) : message.includes(FORM_REFUSED)) {
      const isUnknown = error instanceof ClickHouseError && UNKNOWN_CODES.includes(error.code)
      throw new (isUnknown ? TableMissing : QueryRefused)(message, { cause: error })
    }
    throw new DatabaseUnavailable(message, { cause: error })
  }
}
