import { DOES_NOT_TELL, type Answerer, type Question } from './answerer.js'
import type { Evidence, Quotable, Source } from './evidence.js'

const MOST_QUOTES = 3
/** Characters of a quote; cut at the end of a block. */
const MOST_QUOTED = 900
const INTRODUCTION =
  'These passages of the documentation match the question best; they are quoted, not summarised.'

/** Answers without a language model: with the best passages, word for word, each with its source. */
export class ExtractiveAnswerer implements Answerer {
  readonly name = 'extractive'

  /** Those that are quoted; they are the first, for passages are numbered in their order. */
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
  if (quoted.length === 0) return [DOES_NOT_TELL]
  return [INTRODUCTION, ...quoted.map((passage) => quote(passage, evidence))]
}

const quotedOf = ({ strength, passages }: Evidence): readonly Quotable[] =>
  strength === 'good' ? passages.slice(0, MOST_QUOTES) : []

function quote({ source, headings, markdown }: Quotable, { sources }: Evidence): string {
  const place = [sources[source - 1]?.title ?? '', ...headings].join(' › ')
  const lines = excerpt(markdown).split('\n')
  return `**${place}** [${String(source)}]\n\n${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}`
}

/** As many blocks as fit, at least the first; code is not cut in two. */
function excerpt(markdown: string): string {
  const blocks: string[] = []
  let open = ''
  for (const block of markdown.split('\n\n')) {
    open = open === '' ? block : `${open}\n\n${block}`
    // Fences come in pairs: an odd number of them is a block of code that goes on.
    if ((open.match(/^\s*(```|~~~)/gm) ?? []).length % 2 === 1) continue
    blocks.push(open)
    open = ''
  }
  if (open !== '') blocks.push(open)
  let length = 0
  const taken = blocks.filter((block, index) => {
    length += block.length
    return index === 0 || length <= MOST_QUOTED
  })
  return `${taken.join('\n\n')}${taken.length < blocks.length ? '\n\n…' : ''}`
}
