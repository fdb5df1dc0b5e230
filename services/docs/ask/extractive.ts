import { NO_ANSWER, type Answerer, type Question } from './answerer.js'
import type { Evidence, Quotable, Source } from './evidence.js'
import { excerpt } from './excerpt.js'

const MAX_QUOTES = 3
const INTRODUCTION =
  'These passages of the documentation match the question best; they are quoted, not summarised.'

/** Answers without a language model, by quoting the best passages, each with its source. */
export class ExtractiveAnswerer implements Answerer {
  readonly name = 'extractive'

  /** Returns the sources up to the last that is quoted: they are numbered in the order of the passages. */
  sources(evidence: Evidence): readonly Source[] {
    return evidence.sources.slice(0, Math.max(0, ...quotedOf(evidence).map(({ source }) => source)))
  }

  answer(question: Question): Promise<string> {
    return Promise.resolve(blocksOf(question).join('\n\n'))
  }

  async *stream(question: Question): AsyncGenerator<string> {
    const [first = '', ...others] = blocksOf(question)
    yield first
    for (const block of others) yield `\n\n${block}`
  }
}

function blocksOf({ turns, evidence }: Question): readonly string[] {
  const quoted = quotedOf(evidence)
  if (quoted.length === 0) return [NO_ANSWER]
  const text = turns.at(-1)?.text ?? ''
  return [INTRODUCTION, ...quoted.map((passage) => quote(passage, evidence, text))]
}

/** Returns the best passage, and the next passages if they answer the question by themselves. */
const quotedOf = ({ strength, passages }: Evidence): readonly Quotable[] =>
  strength === 'good'
    ? passages.slice(0, MAX_QUOTES).filter(({ answers }, rank) => answers || rank === 0)
    : []

function quote(
  { source, headings, url, markdown }: Quotable,
  { sources }: Evidence,
  question: string,
): string {
  const place = [sources[source - 1]?.title ?? '', ...headings].join(' › ').replace(/[[\]\\]/g, '\\$&')
  const link = url.replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
  const lines = excerpt(markdown, question).split('\n')
  return `Quoted from **[${place}](${link})** [${String(source)}]:\n\n${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}`
}
