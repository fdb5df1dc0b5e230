import { analyse } from '../words/analysis.js'
import type { Lexicon } from '../words/lexicon.js'
import { blocks, plain } from './markdown.js'

/** The plain text of a passage, and the position of each of its terms. Made once, so that showing a hit needs no analysis. */
export interface IndexedText {
  readonly text: string
  /** Start of each block in `text`, and one position after the separator of the last. */
  readonly blockStarts: readonly number[]
  /** Numbers of the terms, in order of position; a compound follows its parts. */
  readonly terms: Uint32Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** The number of terms that are words or parts of compounds. */
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
