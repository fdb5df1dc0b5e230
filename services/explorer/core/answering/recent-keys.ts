/** The number of keys that are remembered, a power of two. */
const SLOTS = 2 ** 16

/** Remembers keys for a while, in constant memory: 256 KiB of 32-bit hashes. A newer hash replaces the hash in its slot. */
export class RecentKeys {
  readonly #hashes = new Uint32Array(SLOTS)

  /** Remembers a key. @returns whether the key, or in rare cases another key with its hash, was remembered already. */
  add(key: string): boolean {
    const hash = fnv1a(key)
    const slot = hash & (SLOTS - 1)
    const isKnown = this.#hashes[slot] === hash
    this.#hashes[slot] = hash
    return isKnown
  }
}

/** Returns the 32-bit FNV-1a hash of the UTF-16 code units of a text. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
