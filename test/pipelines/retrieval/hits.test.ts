import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Chunk, chunksOf } from '../../../pipelines/retrieval/index/chunk.js'
import { type Hit, hitsOf, marks } from '../../../pipelines/retrieval/hits.js'
import { indexText } from '../../../pipelines/retrieval/index/indexed-text.js'
import { Lexicon } from '../../../pipelines/retrieval/words/lexicon.js'
import { blocks, plain } from '../../../pipelines/retrieval/index/markdown.js'
import { questionOf } from '../../../pipelines/retrieval/words/question.js'
import { pageOf } from './pages.js'

function hits(chunk: Chunk, question: string): Hit[] {
  const lexicon = new Lexicon()
  const body = indexText(chunk.markdown, lexicon)
  const requested = questionOf(question)
  return hitsOf(
    chunk,
    body,
    requested,
    new Map(
      [...requested.terms].map(
        (term) => [lexicon.find(term) ?? -1, term.startsWith('rare') ? 5 : 1] as const,
      ),
    ),
  )
}

const marked = (text: string, question: string): string[] =>
  marks(text, questionOf(question)).map(({ start, end }) => text.slice(start, end))

describe('marks', () => {
  it.each([
    ['Pools mined these blocks; mining a block', 'block mining', ['mined', 'blocks', 'mining', 'block']],
    ['Set RATE_LIMIT_PER_MINUTE high', 'RATE_LIMIT_PER_MINUTE', ['RATE_LIMIT_PER_MINUTE']],
    ['Set RATE_LIMIT_PER_MINUTE high', 'limits', ['LIMIT']],
    ['これは残高を確認します', '残高を', ['残高を']],
    ['高い残高', '残高', ['残高']],
    ['Die Brücke, die Brucke', 'brucke', ['Brücke', 'Brucke']],
    ['the of and', 'what is the hash', []],
  ])('%s: %s', (text, question, expected) => {
    expect(marked(text, question)).toEqual(expected)
  })
})

describe('hitsOf', () => {
  const text = `Nothing here.\n\nA [link](/to/it) to **bold** \`code_name\` and\n*more*.\n\n\`\`\`sh\nnpm run bench\n\`\`\``
  const [chunk] = chunksOf(pageOf('/page', { parts: [['About benches', text]] }))

  it('shows the heading and the block that match', () => {
    expect(hits(chunk!, 'bench')).toEqual([
      { kind: 'heading', headingId: 'about-benches', text: 'About benches', marks: [{ start: 6, end: 13 }] },
      { kind: 'text', headingId: 'about-benches', text: 'npm run bench', marks: [{ start: 8, end: 13 }] },
    ])
    expect(hits(chunk!, 'bold')[0]?.text).toBe('A link to bold code_name and more.')
    expect(hits(chunk!, 'qwertz')).toEqual([
      { kind: 'text', headingId: 'about-benches', text: 'Nothing here.', marks: [] },
    ])
  })

  it('cuts around the match, and marks only what is left', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('word', 'needle', 'a', 'longer-than-that'), {
          minLength: 1,
          maxLength: 150,
        }),
        (words) => {
          const [long] = chunksOf(pageOf('/long', { text: words.join(' ') }))
          const [hit] = hits(long!, 'needle')
          expect(hit!.text.length).toBeLessThanOrEqual(290)
          expect(hit!.marks.length > 0).toBe(long!.markdown.includes('needle'))
          for (const { start, end } of hit!.marks) expect(hit!.text.slice(start, end)).toBe('needle')
        },
      ),
    )
  })
})

it('shows the rarest term of a question rather than the first or the most frequent ones', () => {
  const filler = 'the pool of a block and '.repeat(40)
  const [long] = chunksOf(pageOf('/long', { text: `Pool block pool block.\n\n${filler}a rarebit of it` }))
  const [hit] = hits(long!, 'pool block rarebit')
  expect(hit!.marks.map(({ start, end }) => hit!.text.slice(start, end))).toContain('rarebit')
})

it('shows the match in a text without spaces, and splits no character', () => {
  const [long] = chunksOf(pageOf('/long', { text: `${'これは𠮷。'.repeat(70)}残高${'です𠮷'.repeat(120)}` }))
  const [hit] = hits(long!, '残高')
  expect(hit!.marks.map(({ start, end }) => hit!.text.slice(start, end))).toEqual(['残高'])
  expect(hit!.text.length).toBeLessThanOrEqual(290)
  expect(hit!.text).not.toMatch(/\p{Cs}/u)
})

describe('plain', () => {
  it.each([
    ['- one\n- two', 'one two'],
    ['| a | b |\n|---|---|\n| `x_y` | 2 |', 'a · b x_y · 2'],
    ['> quoted', 'quoted'],
    ['![alt](/p.png "title") text', 'alt text'],
    ['a * b * c and snake_case_name', 'a * b * c and snake_case_name'],
    ['```ts\nconst a = 1\n```', 'const a = 1'],
  ])('%j', (markdown, expected) => {
    expect(blocks(markdown).map(plain).join(' ').replace(/\s+/g, ' ').trim()).toBe(expected)
  })
})
