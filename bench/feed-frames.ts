/** Opcodes of WebSocket frames (RFC 6455, section 5.2). */
export const OPCODE = { text: 0x1, close: 0x8, ping: 0x9, pong: 0xa } as const

/** Receives a frame: its opcode, and its payload as the bytes from `start` to `end`, which are valid during the call. */
export type OnFrame = (opcode: number, data: Buffer, start: number, end: number) => void

/** Splits the bytes of a server into frames. It copies only frames that are cut off, because thousands of clients are read. */
export class FrameReader {
  #rest: Buffer | undefined

  /** @throws Error for a frame of more than 64 KiB, which the feed does not send. */
  read(chunk: Buffer, onFrame: OnFrame): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    let at = 0
    while (data.length - at >= 2) {
      let length = data.readUInt8(at + 1) & 0x7f
      let start = at + 2
      if (length === 127) throw new Error('a frame of more than 64 KiB')
      if (length === 126) {
        if (data.length - at < 4) break
        length = data.readUInt16BE(at + 2)
        start = at + 4
      }
      const end = start + length
      if (end > data.length) break
      onFrame(data.readUInt8(at) & 0x0f, data, start, end)
      at = end
    }
    this.#rest = at < data.length ? Buffer.from(data.subarray(at)) : undefined
  }
}

/** Returns a frame of a client with fewer than 126 bytes. Its mask is zero, so that the payload stays readable. */
export function clientFrame(opcode: number, payload: string): Buffer {
  const length = Buffer.byteLength(payload)
  if (length > 125) throw new RangeError('the payload is too long')
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | length, 0, 0, 0, 0]), Buffer.from(payload)])
}

const ZERO = 0x30
const BRACE = 0x7d

/** Returns `seq` of an event of the feed, its last field, without parsing the rest; undefined for any other message. */
export function seqOf(data: Buffer, start: number, end: number): number | undefined {
  // {"channel":… is an event, {"type":… is not.
  if (data[start + 2] !== 0x63 || data[end - 1] !== BRACE) return undefined
  let seq = 0
  let unit = 1
  for (let at = end - 2; at > start; at--, unit *= 10) {
    const digit = (data[at] ?? 0) - ZERO
    if (digit < 0 || digit > 9) break
    seq += digit * unit
  }
  return seq
}
