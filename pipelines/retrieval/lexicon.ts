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

/** A text, and as how many copies of itself it counts. */
export interface Field {
  readonly text: string
  readonly weight: number
}

/** The bag of a document of several fields. */
export function bagOf(fields: readonly Field[], lexicon: Lexicon): Bag {
  const counts = new Map<number, number>()
  let length = 0
  for (const { text, weight } of fields) {
    for (const { term, parts } of analyse(text)) {
      const id = lexicon.number(term)
      counts.set(id, (counts.get(id) ?? 0) + weight)
      if (parts === 1) length += weight
    }
  }
  return { terms: Uint32Array.from(counts.keys()), counts: Float32Array.from(counts.values()), length }
}
