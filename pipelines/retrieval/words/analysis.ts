import { LRUCache } from 'lru-cache'
import PorterStemmer from 'natural/lib/natural/stemmers/porter_stemmer.js'
import { RegexpTokenizer } from 'natural/lib/natural/tokenizers/regexp_tokenizer.js'
import stopwords from 'natural/lib/natural/util/stopwords.js'

/** Changes with what the same text gives: an index made by another analysis is no use. */
export const ANALYSIS_VERSION = 3

/**
 * A term of a text and where it stands, in UTF-16 units. A compound gives itself as well as its parts, so that
 * `RATE_LIMIT_PER_MINUTE` is found by its name and by "rate limit"; a path its ends too, so that
 * `http://localhost:8081/api/search` is found by `/api/search`.
 */
export interface Token {
  readonly term: string
  readonly start: number
  readonly end: number
  /** 1 for a word or a part of a compound; the number of its parts for a compound; 0 for a letter that stands in pairs as well. */
  readonly parts: number
  /** A name rather than prose: a compound with more than hyphens in it. */
  readonly identifier: boolean
}

/** Letters of scripts without spaces between words, and of Hangul, where particles are joined to them. */
const UNSPACED = String.raw`[[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{N}]]`
const SPACED = String.raw`[[\p{L}\p{N}\p{M}_]--${UNSPACED}]`
const STRETCH = String.raw`(?:${UNSPACED}\p{M}*)+`
/** Words, and what is joined without a space: identifiers, paths, host names, versions, hyphenated words; and unspaced text. */
const RUN = new RegexpTokenizer({
  pattern: new RegExp(String.raw`${STRETCH}|${SPACED}+(?:[\-.\/:]+${SPACED}+)*`, 'gv'),
  gaps: false,
})
const IS_UNSPACED = new RegExp(`^${UNSPACED}`, 'v')
const LETTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })
const SEGMENT = /[\p{L}\p{N}\p{M}_]+/gu
/** Where the next segment of a path begins, behind the slash. */
const SLASH = /\/[-./:]*/g
const JOINED = /[-./:]/
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const CAMEL = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
const PROSE = /^[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*$/u
/** Of Latin, Greek and Cyrillic; the marks of other scripts make another letter. */
const DIACRITICS = /[\u0300-\u036f]/g
/** No name is longer; what is, is data. */
const LONGEST = 200
const RUNS_KEPT = 20_000

const STOP = new Set(stopwords.words)
const runs = new LRUCache<string, readonly Token[]>({ max: RUNS_KEPT })

/** Words that say nothing about the subject of a question. */
export const isStopWord = (word: string): boolean => STOP.has(word.toLowerCase())

/** Terms in the order in which they stand; a compound follows its parts. */
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

/** The tokens of a run that stands at 0. Texts repeat their words: most are known. */
function tokensOf(run: string): readonly Token[] {
  const known = runs.get(run)
  if (known !== undefined) return known
  const made: Token[] = []
  if (IS_UNSPACED.test(run)) analyseUnspaced(run, made)
  else analyseRun(run, 0, made)
  if (run.length <= LONGEST) runs.set(run, made)
  return made
}

/**
 * Pairs of neighbouring letters stand for the words that nobody has parted; each letter is there as well, for who looks for it
 * alone.
 */
function analyseUnspaced(run: string, tokens: Token[]): void {
  const letters = Array.from(LETTERS.segment(run))
  const push = (start: number, end: number, parts: number): void => {
    if (end - start <= LONGEST)
      tokens.push({ term: fold(run.slice(start, end)), start, end, parts, identifier: false })
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
  for (const at of compoundStarts(run))
    pushCompound(run.slice(at), start + at, countWords(tokens, before, start + at), tokens)
}

/** Where the compounds of a run begin, all of which end with it: the whole, and behind each slash what is more than one segment. */
function compoundStarts(run: string): number[] {
  if (run.length > LONGEST) return []
  const ends = Array.from(run.matchAll(SLASH), ({ 0: slash, index }) => index + slash.length)
  return [0, ...ends].filter((at) => JOINED.test(run.slice(at)))
}

/** A segment has no punctuation but underscores: `getBlockHash`, `tx_index`, `P2MR`, `word`. */
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
  // `ClickHouse` is to be found as "clickhouse", which is a word like any other.
  const term = /^[\p{L}\p{N}\p{M}]+$/u.test(text) ? stem(text) : fold(text)
  tokens.push({ term, start, end: start + text.length, parts, identifier: isIdentifier(text) })
}

/** Hyphens alone join prose; in lower case throughout, dots and slashes are as likely a missing space. */
function isIdentifier(text: string): boolean {
  return !PROSE.test(text) || CAMEL.test(text)
}

/** How many words of the tokens from the number `from` on stand at `start` or behind it. */
function countWords(tokens: readonly Token[], from: number, start: number): number {
  let count = 0
  for (const token of tokens.slice(from)) if (token.parts === 1 && token.start >= start) count++
  return count
}

/** The stem of a word, folded. */
const stem = (word: string): string => PorterStemmer.stem(fold(word))

/** Without case and diacritics, and in one form for what reads the same (NFKC). */
const fold = (text: string): string =>
  text.normalize('NFKD').replace(DIACRITICS, '').normalize('NFC').toLowerCase()
