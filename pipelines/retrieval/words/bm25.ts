import type { Bag } from './lexicon.js'
import { best, type Ranked } from '../ranking.js'

/** The saturation of term frequency. 1.2 is the customary value, as in Lucene. */
const K1 = 1.2
/** The normalisation by document length, 0 to 1. 0.75 is the customary value. */
const B = 0.75

/** A term of a question and its weight. */
export interface WeightedTerm {
  /** Number of the term in the lexicon of the index; undefined if the lexicon does not contain it. */
  readonly id: number | undefined
  readonly weight: number
}

/**
 * An inverted index that ranks by BM25:
 * Σ weight · idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length)), with idf = ln(1 + (N − df + ½) / (df + ½)).
 * It is immutable; building one from 10,000 bags takes tens of milliseconds.
 */
export class Bm25 {
  readonly size: number
  /** Start of the documents of each term in the two lists below, and the end of the last. */
  readonly #starts: Uint32Array
  readonly #documents: Uint32Array
  /** Scores of the terms in the documents without idf: the part that does not depend on the question. */
  readonly #impacts: Float32Array

  /** @param terms size of the lexicon; the terms of all bags are lower numbers. */
  constructor(bags: readonly Bag[], terms: number) {
    this.size = bags.length
    const starts = new Uint32Array(terms + 1)
    for (const bag of bags) for (const term of bag.terms) starts[term + 1] = (starts[term + 1] ?? 0) + 1
    for (let term = 1; term <= terms; term++) starts[term] = (starts[term] ?? 0) + (starts[term - 1] ?? 0)
    const total = starts[terms] ?? 0
    this.#starts = starts
    this.#documents = new Uint32Array(total)
    this.#impacts = new Float32Array(total)
    this.#fill(bags)
  }

  #fill(bags: readonly Bag[]): void {
    // The mean is 0 or not a number only if there are no words; the norm is then not used.
    const mean = bags.reduce((sum, bag) => sum + bag.length, 0) / bags.length
    const next = this.#starts.slice()
    for (const [document, { terms, counts, length }] of bags.entries()) {
      const norm = K1 * (1 - B + (B * length) / mean)
      for (const [index, term] of terms.entries()) {
        const at = next[term] ?? 0
        const count = counts[index] ?? 0
        this.#documents[at] = document
        this.#impacts[at] = (count * (K1 + 1)) / (count + norm)
        next[term] = at + 1
      }
    }
  }

  /** Returns the number of documents that contain a term. */
  frequency(term: number | undefined): number {
    if (term === undefined || term + 1 >= this.#starts.length) return 0
    return (this.#starts[term + 1] ?? 0) - (this.#starts[term] ?? 0)
  }

  /** Returns the inverse document frequency of a term: the rarer, the higher. A term that no document contains has the highest. */
  idf(term: number | undefined): number {
    const frequency = this.frequency(term)
    return Math.log(1 + (this.size - frequency + 0.5) / (frequency + 0.5))
  }

  /** Returns the best `most` documents that contain at least one of the terms, best first. */
  rank(terms: readonly WeightedTerm[], most: number, accept?: (document: number) => boolean): Ranked[] {
    const scores = new Float64Array(this.size)
    for (const { id, weight } of terms) {
      if (id === undefined || this.frequency(id) === 0) continue
      const factor = weight * this.idf(id)
      const end = this.#starts[id + 1] ?? 0
      for (let at = this.#starts[id] ?? 0; at < end; at++) {
        const document = this.#documents[at] ?? 0
        scores[document] = (scores[document] ?? 0) + factor * (this.#impacts[at] ?? 0)
      }
    }
    return best(scores, most, accept)
  }
}
