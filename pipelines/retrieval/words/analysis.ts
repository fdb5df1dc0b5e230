import { LRUCache } from 'lru-cache'
import PorterStemmer from 'natural/lib/natural/stemmers/porter_stemmer.js'
import { RegexpTokenizer } from 'natural/lib/natural/tokenizers/regexp_tokenizer.js'
import stopwords from 'natural/lib/natural/util/stopwords.js'

/** The version of the analysis, to be increased when a text results in other terms than before. Indexes of other versions are not read. */
export const ANALYSIS_VERSION = 4

/**
 * A term of a text and its position, in UTF-16 units. A compound results in a term for itself and one for each part, so that
 * `RATE_LIMIT_PER_MINUTE` is found by its name and by "rate limit". A path also results in terms for its ends and for its segments,
 * so that `http://docs.example.org:8081/api/op-returns/latest` is found by `/op-returns/latest`, `op-returns` and
 * `docs.example.org`.
 */
export interface Token {
  readonly term: string
  readonly start: number
  readonly end: number
  /** 1 for a word or a part of a compound, the number of parts for a compound, 0 for a letter that is also indexed in pairs. */
  readonly parts: number
  /** True for a name rather than prose: a compound that is joined by more than hyphens, or in camel case. */
  readonly identifier: boolean
}

/** Letters of scripts without spaces between words, and of Hangul, whose particles are joined to words. */
const UNSPACED = String.raw`[[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{N}]]`
const SPACED = String.raw`[[\p{L}\p{N}\p{M}_]--${UNSPACED}]`
const STRETCH = String.raw`(?:${UNSPACED}\p{M}*)+`
/** Words, and words joined without spaces: identifiers, paths, host names, versions, hyphenated words, unspaced text. */
const RUN = new RegexpTokenizer({
  pattern: new RegExp(String.raw`${STRETCH}|${SPACED}+(?:[\-.\/:]+${SPACED}+)*`, 'gv'),
  gaps: false,
})
const IS_UNSPACED = new RegExp(`^${UNSPACED}`, 'v')
const LETTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })
const SEGMENT = /[\p{L}\p{N}\p{M}_]+/gu
/** A slash of a path, with the punctuation after it. The next segment begins behind it. */
const SLASH = /\/[-./:]*/g
const JOINED = /[-./:]/
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const CAMEL = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
const PROSE = /^[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*$/u
/** Diacritics of Latin, Greek and Cyrillic. The marks of other scripts make another letter. */
const DIACRITICS = /[\u0300-\u036f]/g
/** The maximum length of a term, in characters. Longer ones are data, not names. */
const LONGEST = 200
const RUNS_KEPT = 20_000

const STOP = new Set(stopwords.words)
const runs = new LRUCache<string, readonly Token[]>({ max: RUNS_KEPT })

/** Returns whether a word says nothing about the subject of a question. */
export const isStopWord = (word: string): boolean => STOP.has(word.toLowerCase())

/** Returns the terms of the words that say nothing about a subject. */
export const stopTerms = (): string[] =>
  stopwords.words.flatMap((word) => analyse(word).map(({ term }) => term))

/** Returns the terms of a text, in order of position; a compound follows its parts. */
export function analyse(text: string): Token[] {
  const tokens: Token[] = []
  let from = 0
  for (const run of RUN.tokenize(text) ?? []) {
    const at = text.indexOf(run, from)
    from = at + run.length
    for (const { term, start, end, parts, identifier } of tokensOf(run))
      tokens.push({ term, start: at + start, end: at + end, parts, identifier })
  }
  return tokens
}

/** Returns the tokens of a run, with positions from its start. Most come from the cache, because texts repeat their words. */
function tokensOf(run: string): readonly Token[] {
  const cachedTokens = runs.get(run)
  if (cachedTokens !== undefined) return cachedTokens
  const tokens: Token[] = []
  if (IS_UNSPACED.test(run)) analyseUnspaced(run, tokens)
  else analyseRun(run, 0, tokens)
  if (run.length <= LONGEST) runs.set(run, tokens)
  return tokens
}

/** Adds a term for each pair of adjacent letters, because words are not separated, and one for each letter, for queries of one. */
function analyseUnspaced(run: string, tokens: Token[]): void {
  const letters = Array.from(LETTERS.segment(run))
  const push = (start: number, end: number, parts: number): void => {
    if (end - start <= LONGEST)
      tokens.push({ term: normalised(run.slice(start, end)), start, end, parts, identifier: false })
  }
  for (const [at, { segment, index }] of letters.entries()) {
    const next = letters[at + 1]
    push(index, index + segment.length, letters.length > 1 ? 0 : 1)
    if (next !== undefined) push(index, next.index + next.segment.length, 1)
  }
}

function analyseRun(run: string, start: number, tokens: Token[]): void {
  const before = tokens.length
  for (const { 0: segment, index } of run.matchAll(SEGMENT)) analyseSegment(segment, start + index, tokens)
  for (const [from, to] of compounds(run)) {
    const parts = countWords(tokens.slice(before), start + from, start + to)
    pushCompound(run.slice(from, to), start + from, parts, tokens)
  }
}

/**
 * Returns the ranges of a run's compounds: the run itself and, if it is a path, the rest after each slash, the path without its
 * last segment, and its segments without their port.
 */
function compounds(run: string): Iterable<readonly [from: number, to: number]> {
  if (run.length > LONGEST) return []
  const ranges = new Map<string, readonly [number, number]>()
  const add = (from: number, to: number): void => {
    if (JOINED.test(run.slice(from, to))) ranges.set(`${String(from)} ${String(to)}`, [from, to])
  }
  let from = 0
  add(0, run.length)
  for (const { 0: slash, index } of run.matchAll(SLASH)) {
    const to = from + run.slice(from, index).replace(/[-.:]+$/, '').length
    add(from, to)
    add(from, from + run.slice(from, to).replace(/:\d+$/, '').length)
    from = index + slash.length
    add(from, run.length)
  }
  return ranges.values()
}

/** Adds the terms of a segment, whose only punctuation is underscores: `getBlockHash`, `tx_index`, `P2MR`, `word`. */
function analyseSegment(segment: string, start: number, tokens: Token[]): void {
  const before = tokens.length
  for (const { 0: word, index } of segment.matchAll(WORD)) {
    let at = start + index
    for (const part of word.split(CAMEL)) {
      if (part.length <= LONGEST)
        tokens.push({ term: stem(part), start: at, end: at + part.length, parts: 1, identifier: false })
      at += part.length
    }
  }
  const parts = tokens.length - before
  if (parts > 1) pushCompound(segment, start, parts, tokens)
}

function pushCompound(text: string, start: number, parts: number, tokens: Token[]): void {
  if (text.length > LONGEST || parts < 2) return
  // `ClickHouse` must be found by "clickhouse", which is stemmed like any word.
  const term = /^[\p{L}\p{N}\p{M}]+$/u.test(text) ? stem(text) : normalised(text)
  tokens.push({ term, start, end: start + text.length, parts, identifier: isIdentifier(text) })
}

/** Returns whether a compound is a name. Words joined by hyphens are prose, except in camel case. */
function isIdentifier(text: string): boolean {
  return !PROSE.test(text) || CAMEL.test(text)
}

/** Returns how many of the tokens are words in a range of positions. */
function countWords(tokens: readonly Token[], from: number, to: number): number {
  return tokens.filter(({ parts, start, end }) => parts === 1 && start >= from && end <= to).length
}

/** Returns the stem of a word, normalised. */
const stem = (word: string): string => PorterStemmer.stem(normalised(word))

/** Returns a text in lower case, without diacritics, and with equivalent characters in one form (NFKC). */
const normalised = (text: string): string =>
  text.normalize('NFKD').replace(DIACRITICS, '').normalize('NFC').toLowerCase()
