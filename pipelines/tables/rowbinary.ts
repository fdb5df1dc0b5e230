// Encodes and decodes rows in ClickHouse's RowBinary format by their declared columns: hashes, scripts and bodies are sent as bytes.

/** The TypeScript type of each column type. */
export interface ColumnTypes {
  readonly u8: number
  /** Stored as u8. */
  readonly bool: boolean
  readonly u32: number
  readonly u64: bigint
  /** A number of things, far below 2⁵³; stored as u64. */
  readonly count: number
  /** A total of the chain up to and including the row's block; stored as u64. */
  readonly sum: bigint
  /** Totals of the chain by the type of scripts (`SPENDABLE_TYPES`), without zeros at the end; stored as Array(UInt64). */
  readonly sums: readonly bigint[]
  /** Unsigned, 256 bits. */
  readonly u256: bigint
  readonly f64: number
  /** Far below 2⁵³ in magnitude. */
  readonly i64: number
  /** 64 hex digits; stored as FixedString(32). */
  readonly hash: string
  /** The first 20 bytes of a hash: 40 hex digits; stored as FixedString(20). */
  readonly hash20: string
  /** The first 16 bytes of a hash: 32 hex digits; stored as FixedString(16). */
  readonly hash16: string
  /** The first 8 bytes of a hash: 16 hex digits; stored as FixedString(8). */
  readonly hash8: string
  /** The first 5 bytes of a hash: 10 hex digits; stored as FixedString(5). */
  readonly hash5: string
  readonly hashes: readonly string[]
  /** Array(UInt64). */
  readonly u64s: readonly bigint[]
  /** Array(UInt16). */
  readonly u16s: readonly number[]
  readonly bytes: Uint8Array
  readonly text: string
  /** Unix milliseconds; stored as DateTime64(3). */
  readonly ms: number
}

/** The server's name of each column type. */
const SERVER_TYPES: Readonly<Record<keyof ColumnTypes, string>> = {
  u8: 'UInt8',
  bool: 'UInt8',
  u32: 'UInt32',
  u64: 'UInt64',
  count: 'UInt64',
  sum: 'UInt64',
  sums: 'Array(UInt64)',
  i64: 'Int64',
  u256: 'UInt256',
  f64: 'Float64',
  hash: 'FixedString(32)',
  hash20: 'FixedString(20)',
  hash16: 'FixedString(16)',
  hash8: 'FixedString(8)',
  hash5: 'FixedString(5)',
  hashes: 'Array(FixedString(32))',
  u64s: 'Array(UInt64)',
  u16s: 'Array(UInt16)',
  bytes: 'String',
  text: 'String',
  ms: "DateTime64(3, \\'UTC\\')",
}

/** Returns the structure of a table's rows for `input('…')`. */
export function structureOf({ columns }: Table): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${SERVER_TYPES[type]}`)
    .join(', ')
}

export type Columns = Readonly<Record<string, keyof ColumnTypes>>
export type Row<C extends Columns> = { readonly [K in keyof C]: ColumnTypes[C[K]] }

export interface Table<C extends Columns = Columns> {
  readonly name: string
  readonly columns: C
}

/** Declares a table. */
export function table<const C extends Columns>(name: string, columns: C): Table<C> {
  return { name, columns }
}

const FIRST_BYTES = 1024
const BEYOND_WORD = 2 ** 32

/** A growing buffer to which values of each column type can be appended. */
class RowWriter {
  #buffer: Buffer
  #view: DataView
  #length = 0
  /** The last hash of each column and its offset: the rows of a block or transaction repeat theirs. */
  readonly #lastHash: string[] = []
  readonly #lastAt: number[] = []

  constructor() {
    this.#buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#view = new DataView(this.#buffer.buffer)
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  write(column: number, type: keyof ColumnTypes, value: unknown): void {
    switch (type) {
      case 'u8':
      case 'bool':
        return void this.#room(1).writeUInt8(Number(value), this.#took(1))
      case 'u32':
        return void this.#room(4).writeUInt32LE(value as number, this.#took(4))
      case 'u64':
      case 'sum':
        return this.#u64(value as bigint)
      case 'count':
        return this.#count(value as number)
      case 'i64':
      case 'ms':
        return void this.#room(8).writeBigInt64LE(BigInt(value as number), this.#took(8))
      case 'u256':
        return this.#u256(value as bigint)
      case 'f64':
        return void this.#room(8).writeDoubleLE(value as number, this.#took(8))
      case 'u64s':
      case 'sums':
        return this.#u64s(value as readonly bigint[])
      case 'u16s':
        return this.#u16s(value as readonly number[])
      case 'hash':
        return this.#hashOf(column, value as string, 32)
      case 'hash20':
        return this.#hashOf(column, value as string, 20)
      case 'hash16':
        return this.#hashOf(column, value as string, 16)
      case 'hash8':
        return this.#hash(value as string, 8)
      case 'hash5':
        return this.#hash(value as string, 5)
      case 'hashes':
        return this.#hashes(value as readonly string[])
      case 'bytes':
        return this.#bytes(value as Uint8Array)
      case 'text':
        return this.#bytes(Buffer.from(value as string))
    }
  }

  /** Uses a DataView, which takes a third of the time of Buffer's method. */
  #u64(value: bigint): void {
    if (BigInt.asUintN(64, value) !== value) throw new RangeError(`not a 64-bit integer: ${String(value)}`)
    this.#room(8)
    this.#view.setBigUint64(this.#took(8), value, true)
  }

  #count(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not a count: ${String(value)}`)
    this.#room(8)
    const at = this.#took(8)
    this.#view.setUint32(at, value, true)
    this.#view.setUint32(at + 4, value / BEYOND_WORD, true)
  }

  #hashOf(column: number, value: string, length: number): void {
    const before = this.#lastAt[column]
    this.#lastAt[column] = this.#length
    if (before !== undefined && this.#lastHash[column] === value) {
      this.#room(length).copyWithin(this.#took(length), before, before + length)
      return
    }
    this.#lastHash[column] = value
    this.#hash(value, length)
  }

  #hash(value: string, length = 32): void {
    const bytes = this.#room(length).write(value, this.#took(length), length, 'hex')
    if (bytes !== length || value.length !== 2 * length)
      throw new RangeError(`not a hash of ${String(length)} bytes: ${value}`)
  }

  #u256(value: bigint): void {
    for (let word = 0n; word < 4n; word++)
      this.#room(8).writeBigUInt64LE(BigInt.asUintN(64, value >> (64n * word)), this.#took(8))
  }

  #u64s(values: readonly bigint[]): void {
    this.#varint(values.length)
    for (const value of values) this.#u64(value)
  }

  #u16s(values: readonly number[]): void {
    this.#varint(values.length)
    for (const value of values) this.#room(2).writeUInt16LE(value, this.#took(2))
  }

  #hashes(values: readonly string[]): void {
    this.#varint(values.length)
    for (const value of values) this.#hash(value)
  }

  #bytes(value: Uint8Array): void {
    this.#varint(value.length)
    this.#room(value.length).set(value, this.#took(value.length))
  }

  #varint(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 128))
      this.#room(1).writeUInt8((rest % 128) | 0x80, this.#took(1))
    this.#room(1).writeUInt8(rest, this.#took(1))
  }

  #room(length: number): Buffer {
    if (this.#length + length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#length + length, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
      this.#view = new DataView(grown.buffer)
    }
    return this.#buffer
  }

  #took(length: number): number {
    const at = this.#length
    this.#length += length
    return at
  }
}

/** Rows of a table, encoded as they are added, so that their sources need not be kept until they are sent. */
export class EncodedRows<C extends Columns = Columns> {
  readonly #writer = new RowWriter()
  /** The names and types of the columns: two lists, because a pair for each column takes longer to read. */
  readonly #names: readonly string[]
  readonly #types: readonly (keyof ColumnTypes)[]
  readonly #buffers: Uint8Array[] = []
  #length = 0

  constructor(
    readonly table: Table<C>,
    rows: readonly Row<C>[] = [],
  ) {
    this.#names = Object.keys(table.columns)
    this.#types = Object.values(table.columns)
    for (const row of rows) this.add(row)
  }

  /** The number of rows. */
  get length(): number {
    return this.#length
  }

  /** The encoded rows that were added by `add`. */
  get bytes(): Uint8Array {
    return this.#writer.finish()
  }

  /** The encoded rows that were added by `add` and `take`. */
  get parts(): readonly Uint8Array[] {
    return [...this.#buffers, this.bytes]
  }

  /** Encodes and adds a row. @throws RangeError for a value that does not fit its column. */
  add(row: Row<C>): void {
    const values = row as Readonly<Record<string, unknown>>
    for (let column = 0; column < this.#names.length; column++)
      this.#writer.write(
        column,
        this.#types[column] as keyof ColumnTypes,
        values[this.#names[column] as string],
      )
    this.#length++
  }

  /**
   * Encodes and adds a row whose columns are in several objects. One object with the columns of a wide table would take several
   * times as long to make as to encode.
   */
  addFrom(parts: readonly Partial<Row<C>>[]): void {
    for (let column = 0; column < this.#names.length; column++) {
      const name = this.#names[column] as string
      let value: unknown
      for (let at = 0; value === undefined && at < parts.length; at++)
        value = (parts[at] as Readonly<Record<string, unknown>>)[name]
      this.#writer.write(column, this.#types[column] as keyof ColumnTypes, value)
    }
    this.#length++
  }

  /** Adds encoded rows. */
  take(length: number, bytes: Uint8Array): void {
    this.#buffers.push(bytes)
    this.#length += length
  }
}

/** Reads values of each column type, in the order in which they were written. Bytes are views of the response. */
export class RowReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length
  }

  /** Reads a value. @throws RangeError if the response ends within it. */
  read(type: keyof ColumnTypes): unknown {
    switch (type) {
      case 'u8':
        return this.#bytes.readUInt8(this.#skip(1))
      case 'bool':
        return this.#bytes.readUInt8(this.#skip(1)) === 1
      case 'u32':
        return this.#bytes.readUInt32LE(this.#skip(4))
      case 'u64':
      case 'sum':
        return this.#bytes.readBigUInt64LE(this.#skip(8))
      case 'count':
        return this.#bytes.readUInt32LE(this.#skip(4)) + this.#bytes.readUInt32LE(this.#skip(4)) * BEYOND_WORD
      case 'i64':
      case 'ms':
        return Number(this.#bytes.readBigInt64LE(this.#skip(8)))
      case 'u256':
        return this.#u256()
      case 'f64':
        return this.#bytes.readDoubleLE(this.#skip(8))
      case 'u64s':
      case 'sums':
        return this.#list(() => this.#bytes.readBigUInt64LE(this.#skip(8)))
      case 'u16s':
        return this.#list(() => this.#bytes.readUInt16LE(this.#skip(2)))
      case 'hash':
        return this.#hash()
      case 'hash20':
        return this.#hash(20)
      case 'hash16':
        return this.#hash(16)
      case 'hash8':
        return this.#hash(8)
      case 'hash5':
        return this.#hash(5)
      case 'hashes':
        return this.#list(() => this.#hash())
      case 'bytes':
        return this.#slice(this.#varint())
      case 'text':
        return this.#slice(this.#varint()).toString()
    }
  }

  #u256(): bigint {
    let value = 0n
    for (let word = 0n; word < 4n; word++) value |= this.#bytes.readBigUInt64LE(this.#skip(8)) << (64n * word)
    return value
  }

  #hash(length = 32): string {
    return this.#slice(length).toString('hex')
  }

  #list<T>(read: () => T): T[] {
    return Array.from({ length: this.#varint() }, read)
  }

  #varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes.readUInt8(this.#skip(1))
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  #slice(length: number): Buffer {
    const at = this.#skip(length)
    return this.#bytes.subarray(at, at + length)
  }

  #skip(length: number): number {
    const at = this.#at
    if (length > this.#bytes.length - at)
      throw new RangeError(`the response ends within a value, at byte ${String(this.#bytes.length)}`)
    this.#at = at + length
    return at
  }
}
