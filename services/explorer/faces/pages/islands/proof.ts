import { sha256 } from '@noble/hashes/sha2.js'

/** A block as `/api/v1/block/:heightOrHash` describes it, as far as its header is concerned. */
export interface HeaderFields {
  readonly hash: string
  readonly height: number
  readonly prev_hash: string
  readonly merkle_root: string
  readonly timestamp: string
  readonly nonce: string
  readonly bits: string
  readonly version: number
}

/** A branch of a Merkle tree, as `/api/v1/tx/:txid/merkle-proof` has it. */
export interface Branch {
  readonly block_hash: string
  readonly tx_index: number
  /** Lowest level first. */
  readonly merkle: readonly string[]
}

const HEADER_BYTES = 80
/** A serialised transaction of this size could be a node of a Merkle tree. */
const NODE_BYTES = 64

const bytesOf = (hex: string): Uint8Array => {
  const bytes = hex.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? []
  return Uint8Array.from(bytes)
}
const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
/** Returns a hash in display order, which is the reverse of that of its bytes. */
const shown = (hash: Uint8Array): string => hexOf(Uint8Array.from(hash).reverse())
const internal = (hash: string): Uint8Array => bytesOf(hash).reverse()
const twice = (bytes: Uint8Array): Uint8Array => sha256(sha256(bytes))

/** Returns the txid of a serialised transaction. @param hex with witnesses, if it has any. @throws RangeError if it is none. */
export function txidOf(hex: string): string {
  const bytes = bytesOf(hex)
  const stripped = withoutWitnesses(bytes)
  if (stripped.length === NODE_BYTES) throw new RangeError('a transaction of 64 bytes proves nothing')
  return shown(twice(stripped))
}

/** Returns the root of the Merkle tree that has a transaction at a position. */
export function rootOf(txid: string, { tx_index, merkle }: Pick<Branch, 'tx_index' | 'merkle'>): string {
  let hash = internal(txid)
  for (const [level, other] of merkle.entries()) {
    const sibling = internal(other)
    const isRight = Math.floor(tx_index / 2 ** level) % 2 === 1
    hash = twice(Uint8Array.from(isRight ? [...sibling, ...hash] : [...hash, ...sibling]))
  }
  return shown(hash)
}

/** Returns the hash of a header, from its fields. */
export function hashOf(block: HeaderFields): string {
  const header = new Uint8Array(HEADER_BYTES)
  const view = new DataView(header.buffer)
  view.setUint32(0, block.version, true)
  header.set(internal(block.prev_hash), 4)
  header.set(internal(block.merkle_root), 36)
  view.setUint32(68, Date.parse(block.timestamp) / 1000, true)
  view.setUint32(72, Number.parseInt(block.bits, 16), true)
  view.setUint32(76, Number(block.nonce), true)
  return shown(twice(header))
}

/** Returns the largest hash that proves the work which a header claims. */
export function targetOf({ bits }: Pick<HeaderFields, 'bits'>): bigint {
  const compact = Number.parseInt(bits, 16)
  const [exponent, mantissa] = [compact >>> 24, BigInt(compact & 0x7f_ffff)]
  return exponent <= 3 ? mantissa >> BigInt(8 * (3 - exponent)) : mantissa << BigInt(8 * (exponent - 3))
}

/** Returns the number of hashes that are computed on average until one proves the work. */
export const hashesFor = (block: Pick<HeaderFields, 'bits'>): bigint => (1n << 256n) / (targetOf(block) + 1n)

/** Returns whether the hash of a header proves the work that the header claims. */
export const isProven = (block: HeaderFields): boolean => BigInt(`0x${hashOf(block)}`) <= targetOf(block)

function withoutWitnesses(bytes: Uint8Array): Uint8Array {
  const hasWitnesses = bytes[4] === 0 && bytes[5] !== 0
  if (!hasWitnesses) return bytes
  const view = new DataView(bytes.buffer)
  let at = 6
  const size = (): number => {
    const first = view.getUint8(at++)
    if (first < 0xfd) return first
    const width = first === 0xfd ? 2 : 4
    if (first === 0xff) throw new RangeError('no transaction has so many')
    at += width
    return width === 2 ? view.getUint16(at - 2, true) : view.getUint32(at - 4, true)
  }
  /** Skips a script. */
  const script = (): void => {
    const length = size()
    at += length
  }
  for (let inputs = size(); inputs > 0; inputs--) {
    at += 36
    script()
    at += 4
  }
  for (let outputs = size(); outputs > 0; outputs--) {
    at += 8
    script()
  }
  return Uint8Array.from([...bytes.subarray(0, 4), ...bytes.subarray(6, at), ...bytes.subarray(-4)])
}
