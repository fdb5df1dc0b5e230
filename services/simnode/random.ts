import { createHash } from 'node:crypto'

/**
 * Deterministic random numbers (xoshiro128**): a seed results in the same chain on every machine and Node version.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(a: number, b: number, c: number, d: number) {
    this.#a = a | 0
    this.#b = b | 0
    this.#c = c | 0
    // Four zeros would only generate zeros.
    this.#d = d | 0 || 1
  }

  /** Returns the stream of these words. Equal words result in equal streams, different words in unrelated ones. */
  static of(...words: readonly (string | number)[]): Random {
    const digest = createHash('sha256').update(words.join('/')).digest()
    return new Random(
      digest.readInt32LE(0),
      digest.readInt32LE(4),
      digest.readInt32LE(8),
      digest.readInt32LE(12),
    )
  }

  /** Returns 32 random bits, unsigned. */
  bits(): number {
    const mixed = Math.imul(this.#b, 5)
    const result = Math.imul((mixed << 7) | (mixed >>> 25), 9)
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return result >>> 0
  }

  /** Returns a number in [0, 1). */
  fraction(): number {
    return this.bits() / 4_294_967_296
  }

  /** Returns an integer in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  /** Returns an element of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    const element = list[this.below(list.length)]
    if (element === undefined) throw new RangeError('nothing to pick from')
    return element
  }

  /** Returns an element of a list that is not empty, with probabilities in proportion to the shares. */
  byShare<T extends { readonly share: number }>(list: readonly T[]): T {
    let place = this.below(list.reduce((sum, { share }) => sum + share, 0))
    for (const element of list) {
      if (place < element.share) return element
      place -= element.share
    }
    throw new RangeError('nothing to pick from')
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    const whole = length & ~3
    let at = 0
    for (; at < whole; at += 4) {
      const bits = this.bits()
      bytes[at] = bits
      bytes[at + 1] = bits >>> 8
      bytes[at + 2] = bits >>> 16
      bytes[at + 3] = bits >>> 24
    }
    for (; at < length; at++) bytes[at] = this.bits()
    return bytes
  }

  /** Returns a count around `mean`, uniformly from 0.5 to 1.5 times the mean; 0 only for a mean below 2. */
  around(mean: number): number {
    const exact = mean * (0.5 + this.fraction())
    const floor = Math.floor(exact)
    return floor + (this.chance(exact - floor) ? 1 : 0)
  }
}
