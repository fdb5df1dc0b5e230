import { analyse, isStopWord, type Token } from './analysis.js'
import type { Bm25, WeightedTerm } from './bm25.js'
import type { Lexicon } from './lexicon.js'

/** The share of documents up to which a name is rare, and distinguishes them. */
const RARE_SHARE = 0.05
/** The number of documents up to which a name is rare in a small collection. */
const RARE_DOCUMENTS = 5
/** The share of the question's weight from which a word decides. */
const DECIDING_SHARE = 0.5
/** The number of words, without stop words, up to which a query may be the name of a thing. In longer ones only names decide. */
const MAX_NAME_WORDS = 2

/** The share of capitalised words, not counting the first, from which capitals do not indicate names, as in titles. */
const MAX_CAPITALS = 0.5
const CAPITALS = /(?<=\s)\p{Lu}\p{Ll}/gu
const CAPITALISED = /^\p{Lu}/u
const SENTENCE_START = /(?:^|[.!?]\s)[^\p{L}\s]*$/u
/** A name, as opposed to a path, which differs from reader to reader, and to a number with its unit. */
const NAME = /^[\p{L}_][^./:]*$/u
const LETTERS = /^\p{L}+$/u

/** A question, analysed like the documents. */
export interface Question {
  readonly text: string
  /** Tokens without stop words (unless there are no others) and without the single letters of pairs. */
  readonly tokens: readonly Token[]
  readonly terms: ReadonlySet<string>
}

/**
 * Returns the significant words of a question.
 * @param lexicon the terms of the pages, by which two words are also read as one: "back up" as "backup".
 */
export function questionOf(text: string, lexicon?: Lexicon): Question {
  const all = analyse(text).filter(({ parts }) => parts > 0)
  const compounds = all.filter(({ parts }) => parts > 1)
  const significant = all.filter(
    (token) =>
      token.parts > 1 ||
      compounds.some((compound) => covers(compound, token)) ||
      !isStopWord(text.slice(token.start, token.end)),
  )
  const own = significant.length > 0 ? significant : all
  const tokens = lexicon === undefined ? own : [...own, ...joined(text, all, lexicon)]
  return { text, tokens, terms: new Set(tokens.map(({ term }) => term)) }
}

/** Returns the terms that pages contain and that two adjacent words of a text make if they are joined, unless both are stop words. */
function joined(text: string, tokens: readonly Token[], lexicon: Lexicon): Token[] {
  const words = tokens.filter(({ parts }) => parts === 1)
  return words.flatMap(({ start, end }, at) => {
    const next = words[at + 1]
    if (next?.start !== end + 1 || text[end] !== ' ') return []
    const both = [text.slice(start, end), text.slice(next.start, next.end)]
    const [token, ...others] = both.every(isStopWord) ? [] : analyse(both.join(''))
    if (token === undefined || others.length > 0 || lexicon.find(token.term) === undefined) return []
    return [{ ...token, start, end: next.end, parts: 2 }]
  })
}

/** Returns the words of a question, each with its parts: a compound is one word, its parts are none. */
export function carryingWords({ tokens }: Question): { token: Token; parts: Token[] }[] {
  return tokens
    .filter((token) => !tokens.some((other) => other.parts > token.parts && covers(other, token)))
    .map((token) => ({ token, parts: tokens.filter((other) => other.parts === 1 && covers(token, other)) }))
}

/** Returns the terms for BM25. A name weighs as much as its parts together, so that it outranks its parts in other places. */
export function weightedTerms({ tokens }: Question, lexicon: Lexicon): WeightedTerm[] {
  return tokens.map((token) => ({ id: lexicon.find(token.term), weight: weight(token) }))
}

/** Returns the weight of a token. Hyphens join prose as well as names: such a compound counts as one more word. */
const weight = ({ parts, identifier }: Token): number => (identifier ? parts : 1)

/**
 * Returns the deciding terms, without which a document is not about the question, however near it is in meaning. They are rare in
 * the index: names and, in a question of up to two words, a word that outweighs the other word. The words of a deciding compound are
 * left out.
 */
export function decidingTerms({ text, tokens }: Question, lexicon: Lexicon, index: Bm25): WeightedTerm[] {
  const words = tokens.filter(({ parts }) => parts === 1)
  const worth = ({ term }: Token): number => {
    const id = lexicon.find(term)
    return index.frequency(id) === 0 ? 0 : index.idf(id)
  }
  const half = DECIDING_SHARE * words.reduce((sum, word) => sum + worth(word), 0)
  const rare = Math.max(RARE_DOCUMENTS, index.size * RARE_SHARE)
  const isShort = text.split(/\s+/).filter((word) => !isStopWord(word)).length <= MAX_NAME_WORDS
  const deciding = tokens.filter((token) => {
    const frequency = index.frequency(lexicon.find(token.term))
    if (frequency === 0 || frequency > rare) return false
    const share = words.reduce((sum, word) => sum + (covers(token, word) ? worth(word) : 0), 0)
    return token.identifier || (isShort && share >= half)
  })
  const compounds = deciding.filter(({ parts }) => parts > 1)
  return deciding
    .filter((token) => token.parts > 1 || !compounds.some((compound) => covers(compound, token)))
    .map((token) => ({ id: lexicon.find(token.term), weight: weight(token) }))
}

/**
 * Returns the names in a question that no page contains: identifiers, options, words of a path, and capitalised words if capitals
 * indicate names. Passages that are near in meaning are not about them.
 */
export function unknownNames(
  { text, tokens }: Question,
  { lexicon, pageIndex }: { readonly lexicon: Lexicon; readonly pageIndex: Bm25 },
): string[] {
  const isUnknown = ({ term }: Token): boolean => pageIndex.frequency(lexicon.find(term)) === 0
  const capitalsAreNames = (text.match(CAPITALS) ?? []).length < MAX_CAPITALS * text.split(/\s+/).length
  const isName = ({ start, end, parts, identifier }: Token, around: readonly Token[]): boolean => {
    const [before, name] = [text.slice(0, start), text.slice(start, end)]
    if (before.endsWith('--')) return true
    if (parts > 1) return identifier && NAME.test(name)
    if (around.some((path) => text[path.start - 1] === '/')) return LETTERS.test(name)
    return capitalsAreNames && CAPITALISED.test(name) && !SENTENCE_START.test(before)
  }
  const names = tokens.filter((token) => {
    const around = tokens.filter((other) => other.parts > token.parts && covers(other, token))
    return [token, ...around].every(isUnknown) && isName(token, around)
  })
  const whole = names.filter((name) => !names.some((other) => other !== name && covers(other, name)))
  return [...new Set(whole.map(({ start, end }) => text.slice(start, end)))]
}

const covers = (outer: Token, inner: Token): boolean => outer.start <= inner.start && inner.end <= outer.end
