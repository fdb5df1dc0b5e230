import { analyse, isStopWord, type Token } from './analysis.js'
import type { Bm25, WeightedTerm } from './bm25.js'
import type { Lexicon } from './lexicon.js'

/** A name in no more than this share of the documents tells them apart. */
const RARE_SHARE = 0.05
/** In a small collection that share would be nothing. */
const RARE_DOCUMENTS = 5
/** A word decides when it carries this much of the question's weight. */
const DECIDING_SHARE = 0.5

/** Where so many words behind the first have a capital, as in titles, these tell no names. */
const MOST_CAPITALS = 0.5
const CAPITALS = /(?<=\s)\p{Lu}\p{Ll}/gu
const CAPITALISED = /^\p{Lu}/u
const SENTENCE_START = /(?:^|[.!?]\s)[^\p{L}\s]*$/u
/** No path, of which each reader has another, and no number with its unit. */
const NAME = /^[\p{L}_][^./:]*$/u
const LETTERS = /^\p{L}+$/u

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

/**
 * Names in a question that no page has: identifiers, options, words of a path, and capitalised words where capitals tell names.
 * What is near in meaning is not about them.
 */
export function unknownNames(
  { text, tokens }: Question,
  { lexicon, pageIndex }: { readonly lexicon: Lexicon; readonly pageIndex: Bm25 },
): string[] {
  const isUnknown = ({ term }: Token): boolean => pageIndex.frequency(lexicon.find(term)) === 0
  const capitalsTell = (text.match(CAPITALS) ?? []).length < MOST_CAPITALS * text.split(/\s+/).length
  const isName = ({ start, end, parts, identifier }: Token, around: readonly Token[]): boolean => {
    const [before, said] = [text.slice(0, start), text.slice(start, end)]
    if (before.endsWith('--')) return true
    if (parts > 1) return identifier && NAME.test(said)
    if (around.some((path) => text[path.start - 1] === '/')) return LETTERS.test(said)
    return capitalsTell && CAPITALISED.test(said) && !SENTENCE_START.test(before)
  }
  const names = tokens.filter((token) => {
    const around = tokens.filter((other) => other.parts > token.parts && covers(other, token))
    return [token, ...around].every(isUnknown) && isName(token, around)
  })
  const whole = names.filter((name) => !names.some((other) => other !== name && covers(other, name)))
  return [...new Set(whole.map(({ start, end }) => text.slice(start, end)))]
}

const covers = (outer: Token, inner: Token): boolean => outer.start <= inner.start && inner.end <= outer.end
