import { NO_ANSWER, type Answerer, type Question } from './answerer.js'
import type { Evidence, Quotable, Source } from './evidence.js'

const MAX_QUOTES = 3
/** The maximum length of a quote, in characters. Quotes end at the end of a block. */
const MAX_QUOTED = 900
const INTRODUCTION =
  'These passages of the documentation match the question best; they are quoted, not summarised.'

/** Answers without a language model, by quoting the best passages, each with its source. */
export class ExtractiveAnswerer implements Answerer {
  readonly name = 'extractive'

  /** Returns the sources that are quoted, which are the first ones, because sources are numbered in the order of the passages. */
  sources(evidence: Evidence): readonly Source[] {
    return evidence.sources.slice(0, Math.max(0, ...quotedOf(evidence).map(({ source }) => source)))
  }

  answer({ evidence }: Question): Promise<string> {
    return Promise.resolve(blocksOf(evidence).join('\n\n'))
  }

  async *stream({ evidence }: Question): AsyncGenerator<string> {
    const [first = '', ...others] = blocksOf(evidence)
    yield first
    for (const block of others) yield `\n\n${block}`
  }
}

function blocksOf(evidence: Evidence): readonly string[] {
  const quoted = quotedOf(evidence)
  if (quoted.length === 0) return [NO_ANSWER]
  return [INTRODUCTION, ...quoted.map((passage) => quote(passage, evidence))]
}

const quotedOf = ({ strength, passages }: Evidence): readonly Quotable[] =>
  strength === 'good' ? passages.slice(0, MAX_QUOTES) : []

function quote({ source, headings, markdown }: Quotable, { sources }: Evidence): string {
  const place = [sources[source - 1]?.title ?? '', ...headings].join(' › ')
  const lines = excerpt(markdown).split('\n')
  return `**${place}** [${String(source)}]\n\n${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}`
}

/** Returns as many blocks as fit, at least the first. Code is not split. */
function excerpt(markdown: string): string {
  const blocks: string[] = []
  let open = ''
  for (const block of markdown.split('\n\n')) {
    open = open === '' ? block : `${open}\n\n${block}`
    // After an odd number of fences, a block of code continues.
    if ((open.match(/^\s*(```|~~~)/gm) ?? []).length % 2 === 1) continue
    blocks.push(open)
    open = ''
  }
  if (open !== '') blocks.push(open)
  let length = 0
  const taken = blocks.filter((block, index) => {
    length += block.length
    return index === 0 || length <= MAX_QUOTED
  })
  return `${taken.join('\n\n')}${taken.length < blocks.length ? '\n\n…' : ''}`
}
