/** ClickHouse's RowBinary by declared columns: hashes, scripts and bodies travel as bytes, not as hex or JSON. */

/** What a value of each column type is in TypeScript. */
export interface ColumnTypes {
  readonly u8: number
  /** As u8. */
  readonly bool: boolean
  readonly u32: number
  readonly i32: number
  readonly u64: bigint
  /** As u64, of what is counted: far below 2⁵³. */
  readonly count: number
  /** As u64: a total of the chain up to and including the row's block. */
  readonly sum: bigint
  /** Unsigned, 256 bits. */
  readonly u256: bigint
  readonly f64: number
  /** Of what is far below 2⁵³. */
  readonly i64: number
  /** FixedString(32) from 64 hex digits. */
  readonly hash: string
  readonly hashes: readonly string[]
  /** Array(UInt16). */
  readonly u16s: readonly number[]
  readonly bytes: Uint8Array
  readonly text: string
  /** DateTime64(3) from unix milliseconds. */
  readonly ms: number
}

/** The same as the server names them. */
const SERVER_TYPES: Readonly<Record<keyof ColumnTypes, string>> = {
  u8: 'UInt8',
  bool: 'UInt8',
  u32: 'UInt32',
  i32: 'Int32',
  u64: 'UInt64',
  count: 'UInt64',
  sum: 'UInt64',
  i64: 'Int64',
  u256: 'UInt256',
  f64: 'Float64',
  hash: 'FixedString(32)',
  hashes: 'Array(FixedString(32))',
  u16s: 'Array(UInt16)',
  bytes: 'String',
  text: 'String',
  ms: "DateTime64(3, \\'UTC\\')",
}

/** The structure of a table's rows, for `input('…')`. */
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

const FIRST_BYTES = 1024
const BEYOND_WORD = 2 ** 32

/** A buffer that grows and knows each column type. */
class RowWriter {
  #buffer: Buffer
  #view: DataView
  #length = 0
  /** The last hash of each column and where it is: rows of a block or transaction repeat theirs. */
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
      case 'i32':
        return void this.#room(4).writeInt32LE(value as number, this.#took(4))
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
      case 'u16s':
        return this.#u16s(value as readonly number[])
      case 'hash':
        return this.#hashOf(column, value as string)
      case 'hashes':
        return this.#hashes(value as readonly string[])
      case 'bytes':
        return this.#bytes(value as Uint8Array)
      case 'text':
        return this.#bytes(Buffer.from(value as string))
    }
  }

  /** A DataView's own is a third of the time of Buffer's. */
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

  #hashOf(column: number, value: string): void {
    const before = this.#lastAt[column]
    this.#lastAt[column] = this.#length
    if (before !== undefined && this.#lastHash[column] === value) {
      this.#room(32).copyWithin(this.#took(32), before, before + 32)
      return
    }
    this.#lastHash[column] = value
    this.#hash(value)
  }

  #hash(value: string): void {
    const written = this.#room(32).write(value, this.#took(32), 32, 'hex')
    if (written !== 32 || value.length !== 64) throw new RangeError(`not a hash: ${value}`)
  }

  #u256(value: bigint): void {
    for (let word = 0n; word < 4n; word++)
      this.#room(8).writeBigUInt64LE(BigInt.asUintN(64, value >> (64n * word)), this.#took(8))
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

type Column = readonly [name: string, type: keyof ColumnTypes]

/** Rows of a table, encoded as they are added: nothing of what they are made of need be kept until they are sent. */
export class EncodedRows<C extends Columns = Columns> {
  readonly #writer = new RowWriter()
  readonly #columns: readonly Column[]
  readonly #taken: Uint8Array[] = []
  #length = 0

  constructor(
    readonly table: Table<C>,
    rows: readonly Row<C>[] = [],
  ) {
    this.#columns = Object.entries(table.columns)
    for (const row of rows) this.add(row)
  }

  /** How many there are. */
  get length(): number {
    return this.#length
  }

  /** Of those that were added here. */
  get bytes(): Uint8Array {
    return this.#writer.finish()
  }

  /** Of all. */
  get parts(): readonly Uint8Array[] {
    return [...this.#taken, this.bytes]
  }

  /** @throws RangeError for a value that its column cannot hold. */
  add(row: Row<C>): void {
    const values = row as Readonly<Record<string, unknown>>
    for (let column = 0; column < this.#columns.length; column++) {
      const [name, type] = this.#columns[column] as Column
      this.#writer.write(column, type, values[name])
    }
    this.#length++
  }

  /** Adds rows that were encoded elsewhere. */
  take(length: number, bytes: Uint8Array): void {
    this.#taken.push(bytes)
    this.#length += length
  }
}
