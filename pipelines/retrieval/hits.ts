import { analyse } from './analysis.js'
import type { Chunk } from './chunk.js'
import { blocks, plain } from './markdown.js'
import type { Question } from './question.js'

/** From start to before end, in UTF-16 units. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A place in a page that answers a question. */
export interface Hit {
  readonly kind: 'heading' | 'text'
  readonly headingId: string
  readonly text: string
  readonly marks: readonly Span[]
}

/** Characters of a hit's text. */
const SNIPPET = 280
/** How much of it stands before the first mark. */
const BEFORE = 60

/** Where a text has the question's terms, by stems; what overlaps is one. */
export function marks(text: string, { terms }: Question): Span[] {
  const spans = analyse(text)
    .filter(({ term }) => terms.has(term))
    .sort((a, b) => a.start - b.start || b.end - a.end)
  const merged: { start: number; end: number }[] = []
  for (const { start, end } of spans) {
    const last = merged.at(-1)
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end)
    else merged.push({ start, end })
  }
  return merged
}

/** The places of a chunk worth showing: its heading where that matches, and the block that matches best. */
export function hitsOf(chunk: Chunk, question: Question): Hit[] {
  const { headingId, path, markdown } = chunk
  const hits: Hit[] = []
  const heading = path.at(-1) ?? ''
  const headingMarks = marks(heading, question)
  if (headingMarks.length > 0) hits.push({ kind: 'heading', headingId, text: heading, marks: headingMarks })
  const text = snippet(bestBlock(markdown, question), question)
  if (text !== '') hits.push({ kind: 'text', headingId, text, marks: marks(text, question) })
  return hits
}

/** The block with most of the question's terms, each counted once; the first where none has any. */
function bestBlock(markdown: string, { terms }: Question): string {
  let found = { text: '', count: -1 }
  for (const block of blocks(markdown)) {
    const text = plain(block)
    const count = new Set(analyse(text).flatMap(({ term }) => (terms.has(term) ? [term] : []))).size
    if (text !== '' && count > found.count) found = { text, count }
  }
  return found.text
}

/** As much of a text as is shown, around its first mark, cut between words. */
function snippet(text: string, question: Question): string {
  if (text.length <= SNIPPET) return text
  const first = marks(text, question)[0]?.start ?? 0
  const from = first > SNIPPET - BEFORE ? text.lastIndexOf(' ', first - BEFORE) + 1 : 0
  const space = text.lastIndexOf(' ', from + SNIPPET)
  const to = from + SNIPPET >= text.length ? text.length : space > from + BEFORE ? space : from + SNIPPET
  return `${from > 0 ? '… ' : ''}${text.slice(from, to)}${to < text.length ? ' …' : ''}`
}
