import { analyse } from './analysis.js'
import type { Lexicon } from './lexicon.js'
import { blocks, plain } from '../index/markdown.js'

/** A passage as it reads, and where each of its terms stands: made once, so that showing a hit analyses nothing. */
export interface IndexedText {
  readonly text: string
  /** Where each of its blocks begins in `text`; one end more than there are blocks. */
  readonly blockStarts: readonly number[]
  /** Terms by number, in the order in which they stand; a compound follows its parts. */
  readonly terms: Uint32Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** Terms that are words, or parts of compounds. */
  readonly words: number
}

const BETWEEN_BLOCKS = '\n'

export function indexText(markdown: string, lexicon: Lexicon): IndexedText {
  const texts = blocks(markdown)
    .map(plain)
    .filter((each) => each !== '')
  const blockStarts = [0]
  for (const each of texts) blockStarts.push((blockStarts.at(-1) ?? 0) + each.length + BETWEEN_BLOCKS.length)
  const text = texts.join(BETWEEN_BLOCKS)
  const tokens = analyse(text)
  return {
    text,
    blockStarts,
    terms: Uint32Array.from(tokens, ({ term }) => lexicon.number(term)),
    starts: Uint32Array.from(tokens, ({ start }) => start),
    ends: Uint32Array.from(tokens, ({ end }) => end),
    words: tokens.reduce((sum, { parts }) => sum + Number(parts === 1), 0),
  }
}
