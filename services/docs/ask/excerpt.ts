import { blocks, type MarkdownBlock, plain } from '../../../pipelines/retrieval/index/markdown.js'
import { analyse } from '../../../pipelines/retrieval/words/analysis.js'
import { questionOf } from '../../../pipelines/retrieval/words/question.js'

/** The length in characters of the longest paragraph that is quoted whole, and of the excerpt of a longer paragraph. */
const MAX_PROSE = 500
/** The number of lines of a list, table or code block from which only the lines around the best line are quoted. */
const MAX_LINES = 24
const ROWS = /^\s*(?:[-*+]|\d+[.)]|\|)\s?/
const SENTENCE_END = /(?<=[.!?][)"'\x60*_]*)\s+(?=\S)/

/**
 * Returns the part of a passage that answers a question: the block with most of its words, cut around the sentence or row with most
 * of them, and the code block after it, or the paragraph before it if the block is code. `…` shows what is left out.
 */
export function excerpt(markdown: string, question: string): string {
  const { terms } = questionOf(question)
  const all = blocks(markdown)
  const at = bestOf(all.map((block) => words(plain(block), terms)))
  const best = all[at]
  if (best === undefined) return markdown
  const before = best.code && all[at - 1]?.code === false ? [all[at - 1]] : []
  const after = !best.code && all[at + 1]?.code === true ? [all[at + 1]] : []
  const parts = [...before, best, ...after].flatMap((block) =>
    block === undefined ? [] : [shorten(block, terms)],
  )
  const left = all.length > parts.length ? ['…'] : []
  return [...parts, ...left].join('\n\n')
}

function shorten({ text, code }: MarkdownBlock, terms: ReadonlySet<string>): string {
  const lines = text.split('\n')
  if (code || ROWS.test(text)) return lines.length <= MAX_LINES ? text : cutLines(lines, terms, code)
  return text.length <= MAX_PROSE ? text : cutSentences(text.split(SENTENCE_END), terms)
}

/** Cuts lines around the best one. Fences and the head of a table stay. */
function cutLines(lines: readonly string[], terms: ReadonlySet<string>, code: boolean): string {
  const isTable = lines[0]?.trimStart().startsWith('|') === true
  const head = lines.slice(0, code ? 1 : isTable ? 2 : 0)
  const foot = code ? lines.slice(-1) : []
  const body = lines.slice(head.length, lines.length - foot.length)
  const best = bestOf(body.map((line) => words(line, terms)))
  const from = Math.max(0, Math.min(best - MAX_LINES / 2, body.length - MAX_LINES))
  return [...head, ...body.slice(from, from + MAX_LINES), ...foot].join('\n')
}

/** Cuts a paragraph to the best sentence, and the next sentences as far as they fit. */
function cutSentences(sentences: readonly string[], terms: ReadonlySet<string>): string {
  const from = bestOf(sentences.map((sentence) => words(sentence, terms)))
  let to = from + 1
  while (to < sentences.length && sentences.slice(from, to + 1).join(' ').length <= MAX_PROSE) to++
  return `${from > 0 ? '… ' : ''}${sentences.slice(from, to).join(' ')}${to < sentences.length ? ' …' : ''}`
}

/** Returns the number of different words of the question in a text. */
function words(text: string, terms: ReadonlySet<string>): number {
  return new Set(analyse(text).flatMap(({ term }) => (terms.has(term) ? [term] : []))).size
}

/** Returns the index of the highest number, the first of equal ones. */
const bestOf = (counts: readonly number[]): number => counts.indexOf(Math.max(...counts))
