/** Reads a serialised transaction as far as is needed to find its witnesses. */
class Cursor {
  at = 0

  constructor(private readonly bytes: Buffer) {}

  compactSize(): number {
    const first = this.bytes.readUInt8(this.at++)
    const length = first < 0xfd ? 0 : first === 0xfd ? 2 : 4
    const value = length === 0 ? first : this.bytes.readUIntLE(this.at, length)
    this.at += length
    return value
  }

  skip(bytes: number): void {
    this.at += bytes
  }
}

/** Returns a transaction without its witnesses, whose hash is the txid, and the witnesses alone. */
export function splitWitness(raw: Buffer): { body: Buffer; witness: Buffer } {
  if (raw.readUInt8(4) !== 0) return { body: raw, witness: raw.subarray(0, 0) }
  const cursor = new Cursor(raw)
  // Version, marker and flag.
  cursor.skip(6)
  const inputs = cursor.compactSize()
  for (let input = 0; input < inputs; input++) {
    cursor.skip(36)
    cursor.skip(cursor.compactSize() + 4)
  }
  const outputs = cursor.compactSize()
  for (let output = 0; output < outputs; output++) {
    cursor.skip(8)
    cursor.skip(cursor.compactSize())
  }
  const witnessFrom = cursor.at
  const locktime = raw.subarray(raw.length - 4)
  return {
    body: Buffer.concat([raw.subarray(0, 4), raw.subarray(6, witnessFrom), locktime]),
    witness: raw.subarray(witnessFrom, raw.length - 4),
  }
}

/** Returns the length of a script as it precedes the script. */
export function compactSize(length: number): Buffer {
  if (length < 0xfd) return Buffer.of(length)
  const bytes = Buffer.allocUnsafe(length <= 0xffff ? 3 : 5)
  if (length <= 0xffff) bytes.writeUInt16LE(length, bytes.writeUInt8(0xfd))
  else bytes.writeUInt32LE(length, bytes.writeUInt8(0xfe))
  return bytes
}
