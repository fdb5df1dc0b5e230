import { DatabaseUnavailable } from './clickhouse.js'
import { type ByteQuerier, keySlices, type Querier, queryByKeys, withKeys } from './keys.js'
import { type Columns, type ColumnTypes, type EncodedRows, type Row, RowReader } from './rowbinary.js'

type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name

/** A row that was read: the name of each column is in camel case. */
export type SelectedRow<C extends Columns> = {
  readonly [K in keyof C as Camel<K & string>]: C[K] extends 'bytes' ? Buffer : Row<C>[K]
}

type RawRow = Readonly<Record<string, unknown>>

/** The number of keys up to which a query uses one thread of the server: a second one takes processor time that other queries need. */
const FEW_KEYS = 256
/**
 * The search in the index halves what is left at each step; by default it takes eighths, which costs more for single rows. The newer
 * analyzer, whose joins and subqueries these queries do not have, takes a quarter of the server's time of a point read.
 */
const FEW_KEYS_SETTINGS =
  ' SETTINGS max_threads = 1, merge_tree_coarse_index_granularity = 2, enable_analyzer = 0'

/** Returns the settings of a query for rows by so many keys, as SQL: they take processor time off it if there are few. */
export function pointSettings(keys: number): string {
  return keys <= FEW_KEYS ? FEW_KEYS_SETTINGS : ''
}

/** SQL expressions for columns of types that JSON does not have. */
const EXPRESSIONS: Partial<Record<keyof ColumnTypes, (column: string) => string>> = {
  hash: (column) => `lower(hex(${column}))`,
  hash20: (column) => `lower(hex(${column}))`,
  hash16: (column) => `lower(hex(${column}))`,
  hash8: (column) => `lower(hex(${column}))`,
  hash5: (column) => `lower(hex(${column}))`,
  hashes: (column) => `arrayMap(each -> lower(hex(each)), ${column})`,
  bytes: (column) => `base64Encode(${column})`,
  ms: (column) => `toUnixTimestamp64Milli(${column})`,
}

/** Conversions of JSON values; the server writes 64-bit integers as strings. */
const READERS: Partial<Record<keyof ColumnTypes, (value: never) => unknown>> = {
  bool: (value: number) => value === 1,
  u64: (value: string) => BigInt(value),
  sum: (value: string) => BigInt(value),
  u64s: (values: readonly string[]) => values.map(BigInt),
  sums: (values: readonly string[]) => values.map(BigInt),
  u256: (value: string) => BigInt(value),
  count: Number,
  i64: Number,
  ms: Number,
  bytes: (value: string) => Buffer.from(value, 'base64'),
}

/**
 * The columns that a query selects. Its SQL and the type of its rows follow from their declaration in `schema.ts`, or from an
 * expression for a value that is not stored.
 */
export class Selection<const C extends Columns> {
  readonly #fields: readonly {
    readonly column: string
    readonly name: string
    readonly type: keyof ColumnTypes
    /** Name in the server's response. It differs from the column's name if the value differs, because conditions use the column. */
    readonly alias: string
    readonly read: ((value: never) => unknown) | undefined
  }[]
  readonly #sql: string
  readonly #names: string

  /** @param expressions SQL of the columns that are computed, by name. Only rows in bytes can have them. */
  constructor(columns: C, expressions: Partial<Record<keyof C, string>> = {}) {
    this.#fields = Object.entries(columns).map(([column, type]) => ({
      column,
      type,
      name: column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      alias: EXPRESSIONS[type] === undefined ? column : `${column}_read`,
      read: READERS[type],
    }))
    const selected = Object.entries(columns).map(([column, type]) => {
      const expression = EXPRESSIONS[type]?.(column)
      return expression === undefined ? column : `${expression} AS ${column}_read`
    })
    this.#sql = `SELECT ${selected.join(', ')}`
    this.#names = Object.keys(columns)
      .map((column) => (expressions[column] === undefined ? column : `${expressions[column]} AS ${column}`))
      .join(', ')
  }

  /** The columns as `bytes` selects them, for a further part of a union. */
  get names(): string {
    return this.#names
  }

  /** Returns rows. @param rest of the statement, from FROM on. @throws as `db.query`. */
  async query(
    db: Querier,
    rest: string,
    params?: Readonly<Record<string, unknown>>,
  ): Promise<SelectedRow<C>[]> {
    return (await db.query<RawRow>(`${this.#sql} ${rest}`, params)).map((row) => this.#read(row))
  }

  /** Returns rows by any number of keys (see `queryByKeys`). @param rest of the statement, from FROM on. */
  async queryByKeys(
    db: Querier,
    rest: string,
    keys: Iterable<string>,
    params?: Readonly<Record<string, unknown>>,
  ): Promise<SelectedRow<C>[]> {
    const rows = await queryByKeys<RawRow>(db, `${this.#sql} ${rest}`, keys, params)
    return rows.map((row) => this.#read(row))
  }

  /** Returns rows like `bytesByKeys`, without keys. */
  async bytes(
    db: ByteQuerier,
    rest: string,
    params?: Readonly<Record<string, unknown>>,
  ): Promise<SelectedRow<C>[]> {
    const rows: SelectedRow<C>[] = []
    this.#decode(await db.bytes(`SELECT ${this.#names} ${rest}`, params), rows)
    return rows
  }

  /**
   * Returns rows by any number of keys, each of them in the bytes in which the table has it. Much cheaper than `queryByKeys` for
   * both sides, but byte columns of the rows keep the whole response in memory: copy what is kept.
   * @param rest of the statement, from FROM on, without settings. It must select from a table, whose columns have the declared types.
   * @throws as `db.bytes`.
   */
  async bytesByKeys(
    db: ByteQuerier,
    rest: string,
    keys: Iterable<string>,
    params?: Readonly<Record<string, unknown>>,
  ): Promise<SelectedRow<C>[]> {
    const rows: SelectedRow<C>[] = []
    for (const slice of keySlices(keys)) {
      const sql = withKeys(`SELECT ${this.#names} ${rest}`, slice, db.isSharded) + pointSettings(slice.length)
      this.#decode(await db.bytes(sql, params), rows)
    }
    return rows
  }

  /** Returns rows that are to be inserted into a table of these columns. */
  decoded({ parts }: EncodedRows<C>): SelectedRow<C>[] {
    const rows: SelectedRow<C>[] = []
    for (const part of parts) this.#decode(Buffer.from(part.buffer, part.byteOffset, part.length), rows)
    return rows
  }

  #decode(bytes: Buffer, rows: SelectedRow<C>[]): void {
    const reader = new RowReader(bytes)
    try {
      while (reader.hasMore) {
        const row: Record<string, unknown> = {}
        for (const { name, type } of this.#fields) row[name] = reader.read(type)
        rows.push(row as SelectedRow<C>)
      }
    } catch (error) {
      throw new DatabaseUnavailable('the response ends within a row', { cause: error })
    }
  }

  /** Converts a row that was read into a row of the table. */
  write(row: SelectedRow<C>): Row<C> {
    const values = row as RawRow
    return Object.fromEntries(this.#fields.map(({ column, name }) => [column, values[name]])) as Row<C>
  }

  #read(raw: RawRow): SelectedRow<C> {
    const row: Record<string, unknown> = {}
    for (const { name, alias, read } of this.#fields)
      row[name] = read === undefined ? raw[alias] : read(raw[alias] as never)
    return row as SelectedRow<C>
  }
}
