import { analyse } from './analysis.js'

/** Numbers for terms, so that an index holds integers. Only grows: an index keeps the numbers it was made with. */
export class Lexicon {
  readonly #ids = new Map<string, number>()

  get size(): number {
    return this.#ids.size
  }

  /** The term's number, undefined where no text has had it. */
  find(term: string): number | undefined {
    return this.#ids.get(term)
  }

  /** The term's number, a new one where it has none. */
  number(term: string): number {
    const known = this.#ids.get(term)
    if (known !== undefined) return known
    const id = this.#ids.size
    this.#ids.set(term, id)
    return id
  }
}

/** How often each term stands in a text, without their order. */
export interface Bag {
  readonly terms: Uint32Array
  readonly counts: Float32Array
  /** Words of the text: compounds are not counted again beside their parts. */
  readonly length: number
}

/** Terms as they stand in a text, and how many copies of it count. */
export interface Field {
  readonly terms: Iterable<number>
  readonly words: number
  readonly weight: number
}

/** A short text as a field. */
export function fieldOf(text: string, weight: number, lexicon: Lexicon): Field {
  const tokens = analyse(text)
  const words = tokens.reduce((sum, { parts }) => sum + Number(parts === 1), 0)
  return { terms: tokens.map(({ term }) => lexicon.number(term)), words, weight }
}

/** The bag of a document of several fields. */
export function bagOf(fields: readonly Field[]): Bag {
  const counts = new Map<number, number>()
  let length = 0
  for (const { terms, words, weight } of fields) {
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + weight)
    length += words * weight
  }
  return { terms: Uint32Array.from(counts.keys()), counts: Float32Array.from(counts.values()), length }
}
