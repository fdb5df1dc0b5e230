import { analyse, isStopWord, type Token } from './analysis.js'
import type { Bm25, WeightedTerm } from './bm25.js'
import type { Lexicon } from './lexicon.js'

/** A name in no more than this share of the documents tells them apart. */
const RARE_SHARE = 0.05
/** In a small collection that share would be nothing. */
const RARE_DOCUMENTS = 5
/** A word decides when it carries this much of the question's weight. */
const DECIDING_SHARE = 0.5

/** What somebody asks, analysed as the documents are. */
export interface Question {
  readonly text: string
  /** Without the words that say nothing about a subject, unless it has no others, and the letters of pairs. */
  readonly tokens: readonly Token[]
  readonly terms: ReadonlySet<string>
}

export function questionOf(text: string): Question {
  const all = analyse(text).filter(({ parts }) => parts > 0)
  const compounds = all.filter(({ parts }) => parts > 1)
  const telling = all.filter(
    (token) =>
      token.parts > 1 ||
      compounds.some((compound) => covers(compound, token)) ||
      !isStopWord(text.slice(token.start, token.end)),
  )
  const tokens = telling.length > 0 ? telling : all
  return { text, tokens, terms: new Set(tokens.map(({ term }) => term)) }
}

/** The terms for BM25. A compound counts as much as its parts together, so that its name beats any number of them apart. */
export function weightedTerms({ tokens }: Question, lexicon: Lexicon): WeightedTerm[] {
  return tokens.map((token) => ({ id: lexicon.find(token.term), weight: weight(token) }))
}

/** Hyphens join prose as well as names: such a compound is one more word. */
const weight = ({ parts, identifier }: Token): number => (identifier ? parts : 1)

/**
 * The terms that a document must have to be what was asked for, however near others are in meaning: names that are rare in the
 * index, and a word that outweighs all others of the question together. Where a compound is there, its words do not stand for it.
 */
export function decidingTerms({ tokens }: Question, lexicon: Lexicon, index: Bm25): WeightedTerm[] {
  const words = tokens.filter(({ parts }) => parts === 1)
  const worth = ({ term }: Token): number => {
    const id = lexicon.find(term)
    return index.frequency(id) === 0 ? 0 : index.idf(id)
  }
  const half = DECIDING_SHARE * words.reduce((sum, word) => sum + worth(word), 0)
  const rare = Math.max(RARE_DOCUMENTS, index.size * RARE_SHARE)
  const deciding = tokens.filter((token) => {
    const frequency = index.frequency(lexicon.find(token.term))
    if (frequency === 0) return false
    const share = words.reduce((sum, word) => sum + (covers(token, word) ? worth(word) : 0), 0)
    return share >= half || (token.identifier && frequency <= rare)
  })
  const compounds = deciding.filter(({ parts }) => parts > 1)
  return deciding
    .filter((token) => token.parts > 1 || !compounds.some((compound) => covers(compound, token)))
    .map((token) => ({ id: lexicon.find(token.term), weight: weight(token) }))
}

const covers = (outer: Token, inner: Token): boolean => outer.start <= inner.start && inner.end <= outer.end
