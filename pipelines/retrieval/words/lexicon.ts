import { analyse } from './analysis.js'

/** Numbers for terms, so that an index contains integers. It only grows: an index keeps the numbers that it was made with. */
export class Lexicon {
  readonly #ids: Map<string, number>

  /** @param terms in the order of their numbers. */
  constructor(terms: readonly string[] = []) {
    this.#ids = new Map(terms.map((term, id) => [term, id]))
  }

  get size(): number {
    return this.#ids.size
  }

  /** Returns all terms in the order of their numbers. */
  terms(): string[] {
    return [...this.#ids.keys()]
  }

  /** Returns the number of a term, or undefined if it has none. */
  find(term: string): number | undefined {
    return this.#ids.get(term)
  }

  /** Returns the number of a term, a new one if it has none. */
  number(term: string): number {
    const existing = this.#ids.get(term)
    if (existing !== undefined) return existing
    const id = this.#ids.size
    this.#ids.set(term, id)
    return id
  }
}

/** The frequencies of the terms of a text, without their order. */
export interface Bag {
  readonly terms: Uint32Array
  readonly counts: Float32Array
  /** The number of words of the text. Compounds are not counted in addition to their parts. */
  readonly length: number
}

/** The terms of a text in order, and the weight of the text. */
export interface Field {
  readonly terms: Iterable<number>
  readonly words: number
  readonly weight: number
}

/** Returns a short text as a field. */
export function fieldOf(text: string, weight: number, lexicon: Lexicon): Field {
  const tokens = analyse(text)
  const words = tokens.reduce((sum, { parts }) => sum + Number(parts === 1), 0)
  return { terms: tokens.map(({ term }) => lexicon.number(term)), words, weight }
}

/** Returns the bag of a document with several fields. */
export function bagOf(fields: readonly Field[]): Bag {
  const counts = new Map<number, number>()
  let length = 0
  for (const { terms, words, weight } of fields) {
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + weight)
    length += words * weight
  }
  return { terms: Uint32Array.from(counts.keys()), counts: Float32Array.from(counts.values()), length }
}
