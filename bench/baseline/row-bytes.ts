/** Rows in ClickHouse's format RowBinary: values in the order of the columns, little endian, strings after their length. */
export class RowBytes {
  #bytes = Buffer.allocUnsafe(1 << 16)
  #end = 0

  u8(value: number): this {
    this.#end = this.#room(1).writeUInt8(value, this.#end)
    return this
  }

  u32(...values: readonly number[]): this {
    for (const value of values) this.#end = this.#room(4).writeUInt32LE(value, this.#end)
    return this
  }

  u64(...values: readonly bigint[]): this {
    for (const value of values) this.#end = this.#room(8).writeBigUInt64LE(value, this.#end)
    return this
  }

  /** Adds hashes of 32 bytes. */
  hash(...hashes: readonly string[]): this {
    for (const hash of hashes) this.#end += this.#room(32).write(hash, this.#end, 'hex')
    return this
  }

  string(bytes: Buffer): this {
    let length = bytes.length
    for (; length > 0x7f; length >>>= 7) this.u8((length & 0x7f) | 0x80)
    this.u8(length)
    this.#end += bytes.copy(this.#room(bytes.length), this.#end)
    return this
  }

  /** Returns the rows and starts over. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#end)
    this.#bytes = Buffer.allocUnsafe(this.#bytes.length)
    this.#end = 0
    return taken
  }

  #room(bytes: number): Buffer {
    if (this.#end + bytes > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * this.#bytes.length + bytes)
      this.#bytes.copy(larger, 0, 0, this.#end)
      this.#bytes = larger
    }
    return this.#bytes
  }
}
