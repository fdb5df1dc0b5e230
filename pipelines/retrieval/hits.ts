import { analyse } from './words/analysis.js'
import type { Chunk } from './index/chunk.js'
import type { IndexedText } from './index/indexed-text.js'
import type { Question } from './words/question.js'

/** A range of a text in UTF-16 units, without the unit at `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A heading or passage of a page that matches a question. */
export interface Hit {
  readonly kind: 'heading' | 'text'
  readonly headingId: string
  readonly text: string
  readonly marks: readonly Span[]
}

/** The maximum length of a hit's text, in characters. */
const SNIPPET = 280
/** The number of characters before the first mark. */
const BEFORE = 60

/** Returns where a text contains terms of the question, compared by stem. Overlapping ranges are merged. */
export function marks(text: string, { terms }: Question): Span[] {
  return merged(analyse(text).filter(({ term }) => terms.has(term)))
}

/** The question's terms by number, and their weights: the rarer, the higher. */
export type TermWeights = ReadonlyMap<number, number>

/** Returns the hits of a chunk: its heading if that matches, and the block that matches best. */
export function hitsOf(
  { headingId, path }: Chunk,
  body: IndexedText,
  question: Question,
  weights: TermWeights,
): Hit[] {
  const hits: Hit[] = []
  const heading = path.at(-1) ?? ''
  const headingMarks = marks(heading, question)
  if (headingMarks.length > 0) hits.push({ kind: 'heading', headingId, text: heading, marks: headingMarks })
  if (body.text !== '') hits.push({ kind: 'text', headingId, ...snippet(body, weights) })
  return hits
}

/** Returns an excerpt of the block whose different terms weigh most, or of the first block if none has any. */
function snippet(body: IndexedText, weights: TermWeights): Pick<Hit, 'text' | 'marks'> {
  const matches = matchesIn(body, weights)
  let best = { weight: 0, from: 0, to: (body.blockStarts[1] ?? 1) - 1 }
  for (const [block, from] of body.blockStarts.slice(0, -1).entries()) {
    const to = (body.blockStarts[block + 1] ?? 0) - 1
    const terms = new Set(matches.flatMap(({ start, term }) => (start >= from && start < to ? [term] : [])))
    const weight = [...terms].reduce((sum, term) => sum + (weights.get(term) ?? 0), 0)
    if (weight > best.weight) best = { weight, from, to }
  }
  const ofBlock = matches.filter(({ start }) => start >= best.from && start < best.to)
  const rarest = ofBlock.toSorted((a, b) => (weights.get(b.term) ?? 0) - (weights.get(a.term) ?? 0))[0]
  return cut(body.text, best, { marks: merged(ofBlock), first: rarest?.start ?? best.from })
}

function matchesIn({ terms, starts, ends }: IndexedText, weights: TermWeights): (Span & { term: number })[] {
  const matches: (Span & { term: number })[] = []
  for (const [at, term] of terms.entries())
    if (weights.has(term)) matches.push({ term, start: starts[at] ?? 0, end: ends[at] ?? 0 })
  return matches
}

/**
 * Cuts a block around a position that must be shown, between words if there are spaces. Marks are relative to the start of the
 * result.
 */
function cut(
  text: string,
  block: { from: number; to: number },
  { marks: spans, first }: { marks: readonly Span[]; first: number },
): Pick<Hit, 'text' | 'marks'> {
  let { from, to } = block
  if (to - from > SNIPPET) {
    if (first - from > SNIPPET - BEFORE) {
      const space = text.lastIndexOf(' ', first - BEFORE)
      from = space > first - 2 * BEFORE ? space + 1 : between(text, first - BEFORE)
    }
    const end = between(text, from + SNIPPET)
    const space = text.lastIndexOf(' ', end)
    to = end >= block.to ? block.to : space > first + BEFORE / 2 ? space : end
  }
  const lead = from > block.from ? '… ' : ''
  const visible = spans
    .filter(({ start, end }) => start >= from && end <= to)
    .map(({ start, end }) => ({ start: start - from + lead.length, end: end - from + lead.length }))
  return { text: `${lead}${text.slice(from, to)}${to < block.to ? ' …' : ''}`, marks: visible }
}

/** Returns the index, or the index before it if a character of two UTF-16 units would be split. */
const between = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at)

function merged(spans: readonly Span[]): Span[] {
  const result: { start: number; end: number }[] = []
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1)
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end)
    else result.push({ start, end })
  }
  return result
}
