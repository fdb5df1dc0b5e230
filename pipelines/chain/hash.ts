import { hash } from 'node:crypto'
import { asBuffer } from './bytes.js'

export function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}

/** Applies digests of node:crypto, each to the result of the previous one. */
export function digest(bytes: Uint8Array, names: readonly string[]): Uint8Array {
  return names.reduce((data, name) => hash(name, data, 'buffer'), bytes)
}

/** Returns Bitcoin's double SHA-256. */
export function sha256d(bytes: Uint8Array): Buffer {
  return sha256(sha256(bytes))
}

/** Returns the RIPEMD-160 of the SHA-256, as in key and script hashes. */
export function hash160(bytes: Uint8Array): Buffer {
  return hash('ripemd160', sha256(bytes), 'buffer')
}

const reversed = Buffer.alloc(32)

/** Converts 32 bytes in serialised order to hex in display order. */
export function reverseHex(bytes: Uint8Array): string {
  reversed.set(bytes)
  return reversed.reverse().toString('hex')
}

/** Returns bytes as hex, without reversing them. */
export function hexOf(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('hex')
}

/** Converts hex in display order to 32 bytes in display order. @throws RangeError for another length. */
export function displayBytes(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex')
  if (bytes.length !== 32) throw new RangeError(`not a hash: ${hex}`)
  return bytes
}

/** Converts hex in display order to 32 bytes in serialised order. @throws RangeError for another length. */
export function internalBytes(hex: string): Buffer {
  return displayBytes(hex).reverse()
}
