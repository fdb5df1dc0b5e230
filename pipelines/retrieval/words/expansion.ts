import { stopTerms } from './analysis.js'
import type { Bm25, WeightedTerm } from './bm25.js'
import type { Bag, Lexicon } from './lexicon.js'

/** The number of words that are added to a question, and their share of its weight. Decision 30 has the measurements. */
const ADDED_TERMS = 10
const ADDED_SHARE = 0.3
/** Words that are never added: in a small collection they are as rare as others. */
const STOP_TERMS = stopTerms()

/** A passage that was found for a question, and its score. */
export interface Feedback {
  readonly bag: Bag
  readonly score: number
}

/**
 * Adds to the terms of a question the words that distinguish the passages found for it (pseudo-relevance feedback, RM3): the words
 * with the highest probability × idf in the mean of the passages' word distributions, weighted by score.
 */
export function expand(
  terms: readonly WeightedTerm[],
  passages: readonly Feedback[],
  { chunkIndex, lexicon }: { readonly chunkIndex: Bm25; readonly lexicon: Lexicon },
): readonly WeightedTerm[] {
  const probabilities = new Map<number, number>()
  for (const { bag, score } of passages)
    for (const [at, term] of bag.terms.entries())
      probabilities.set(
        term,
        (probabilities.get(term) ?? 0) + (score * (bag.counts[at] ?? 0)) / Math.max(1, bag.length),
      )
  for (const term of STOP_TERMS) probabilities.delete(lexicon.find(term) ?? -1)
  const added = [...probabilities]
    .map(([id, probability]) => ({ id, weight: probability, worth: probability * chunkIndex.idf(id) }))
    .sort((a, b) => b.worth - a.worth || a.id - b.id)
    .slice(0, ADDED_TERMS)
  const mass = sum(added)
  if (mass === 0) return terms
  const share = (ADDED_SHARE * sum(terms)) / mass
  return [
    ...terms.map(({ id, weight }) => ({ id, weight: (1 - ADDED_SHARE) * weight })),
    ...added.map(({ id, weight }) => ({ id, weight: share * weight })),
  ]
}

const sum = (terms: readonly { readonly weight: number }[]): number =>
  terms.reduce((total, { weight }) => total + weight, 0)
