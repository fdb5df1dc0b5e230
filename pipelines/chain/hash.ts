import { hash } from 'node:crypto'
import { asBuffer } from './bytes.js'

export function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}

/** The result of some digests of node:crypto, one applied to that of the other. */
export function digest(bytes: Uint8Array, names: readonly string[]): Uint8Array {
  return names.reduce((data, name) => hash(name, data, 'buffer'), bytes)
}

/** Bitcoin's double SHA-256. */
export function sha256d(bytes: Uint8Array): Buffer {
  return sha256(sha256(bytes))
}

/** RIPEMD-160 of SHA-256: what key and script hashes are made of. */
export function hash160(bytes: Uint8Array): Buffer {
  return hash('ripemd160', sha256(bytes), 'buffer')
}

const reversed = Buffer.alloc(32)

/** Internal (serialised) byte order → the hex that people read. @param bytes 32 of them. */
export function reverseHex(bytes: Uint8Array): string {
  reversed.set(bytes)
  return reversed.reverse().toString('hex')
}

/** Returns bytes as hex, in the same order. */
export function hexOf(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('hex')
}

/** Display hex → 32 bytes in the same order. */
export function displayBytes(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex')
  if (bytes.length !== 32) throw new RangeError(`not a hash: ${hex}`)
  return bytes
}

/** Display hex → 32 bytes in serialised order. */
export function internalBytes(hex: string): Buffer {
  return displayBytes(hex).reverse()
}
