/** Returns a Buffer that shares the memory of the bytes. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Reads Bitcoin's little-endian serialisation from a buffer. Returned bytes are views, not copies. */
export class ByteReader {
  readonly #bytes: Buffer
  offset = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = asBuffer(bytes)
  }

  get remaining(): number {
    return this.#bytes.length - this.offset
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#advance(1))
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#advance(2))
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#advance(4))
  }

  u64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#advance(8))
  }

  /** Reads a compact size. @throws RangeError above 2⁵³. */
  compactSize(): number {
    const first = this.u8()
    if (first < 0xfd) return first
    if (first === 0xfd) return this.u16()
    if (first === 0xfe) return this.u32()
    const size = this.u64()
    if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError('a size beyond 2^53')
    return Number(size)
  }

  bytes(length: number): Buffer {
    const from = this.#advance(length)
    return this.#bytes.subarray(from, from + length)
  }

  /** Returns a view of the bytes from an offset up to the current one. */
  since(from: number): Buffer {
    return this.#bytes.subarray(from, this.offset)
  }

  #advance(length: number): number {
    const from = this.offset
    if (length > this.#bytes.length - from) {
      throw new RangeError(
        `${String(length)} bytes expected at ${String(from)}, ${String(this.remaining)} left`,
      )
    }
    this.offset = from + length
    return from
  }
}

/** Writes Bitcoin's little-endian serialisation into a growing buffer. */
export class ByteWriter {
  #bytes: Buffer
  #length = 0

  constructor(sizeHint = 256) {
    this.#bytes = Buffer.allocUnsafe(sizeHint)
  }

  u8(value: number): this {
    const at = this.#reserve(1)
    this.#bytes.writeUInt8(value, at)
    return this
  }

  u16(value: number): this {
    const at = this.#reserve(2)
    this.#bytes.writeUInt16LE(value, at)
    return this
  }

  u32(value: number): this {
    const at = this.#reserve(4)
    this.#bytes.writeUInt32LE(value, at)
    return this
  }

  u64(value: bigint): this {
    const at = this.#reserve(8)
    this.#bytes.writeBigUInt64LE(value, at)
    return this
  }

  compactSize(value: number): this {
    if (value < 0xfd) return this.u8(value)
    if (value <= 0xffff) return this.u8(0xfd).u16(value)
    if (value <= 0xffff_ffff) return this.u8(0xfe).u32(value)
    return this.u8(0xff).u64(BigInt(value))
  }

  bytes(value: Uint8Array): this {
    const at = this.#reserve(value.length)
    this.#bytes.set(value, at)
    return this
  }

  /** Writes the compact size of the bytes, then the bytes. */
  sized(value: Uint8Array): this {
    return this.compactSize(value.length).bytes(value)
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Must be called before `#bytes` is read, because it may replace that buffer. */
  #reserve(length: number): number {
    const from = this.#length
    const needed = from + length
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
      this.#bytes.copy(grown, 0, 0, from)
      this.#bytes = grown
    }
    this.#length = needed
    return from
  }
}
