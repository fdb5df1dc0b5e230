import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chunksOf } from '../../../../pipelines/retrieval/index/chunk.js'
import { pageOf } from '../pages.js'

const words = (count: number, word = 'block'): string =>
  Array.from({ length: count }, (_, at) => `${word}${String(at)}`).join(' ')

describe('chunksOf', () => {
  it('includes the headings above and the code below', () => {
    const page = pageOf('/run', {
      title: 'Run it',
      parts: [['Start', 'First:\n\n```sh\nnpm start\n\nnpm test\n```']],
    })
    const [chunk, ...others] = chunksOf(page)
    expect(others).toEqual([])
    expect(chunk).toMatchObject({
      headingId: 'start',
      path: ['Start'],
      markdown: 'First:\n\n```sh\nnpm start\n\nnpm test\n```',
    })
    expect(chunk?.text).toBe('Run it > Start\nFirst:\n\n```sh\nnpm start\n\nnpm test\n```')
  })

  it('splits a text that is too long for the model between paragraphs, and loses no word', () => {
    const page = pageOf('/long', { text: [words(60), words(80), words(400)].join('\n\n') })
    const chunks = chunksOf(page)
    expect(chunks.length).toBeGreaterThan(3)
    for (const { markdown } of chunks) expect(markdown.length).toBeLessThanOrEqual(1000)
    expect(
      chunks
        .map(({ markdown }) => markdown)
        .join(' ')
        .split(/\s+/),
    ).toEqual(page.sections[0]?.markdown.split(/\s+/))
  })

  it('splits code between lines, each part in fences', () => {
    const lines = Array.from({ length: 200 }, (_, at) => `const line${String(at)} = ${String(at)}`)
    const chunks = chunksOf(pageOf('/code', { text: `\`\`\`ts\n${lines.join('\n')}\n\`\`\`` }))
    expect(chunks.length).toBeGreaterThan(2)
    for (const { markdown } of chunks) expect(markdown).toMatch(/^```ts\n[^`]+\n```$/)
    const kept = chunks.flatMap(({ markdown }) => markdown.split('\n').slice(1, -1))
    expect(kept).toEqual(lines)
  })

  it('identifies each chunk by its position and text, also equal ones', () => {
    const said = pageOf('/twice', {
      parts: [
        ['Same', 'One text.'],
        ['Same', 'One text.'],
      ],
    })
    const ids = chunksOf(said).map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    expect(
      chunksOf(
        pageOf('/twice', {
          parts: [
            ['Same', 'One text.'],
            ['Same', 'One text.'],
          ],
        }),
      ).map(({ id }) => id),
    ).toEqual(ids)
    const moved = chunksOf(pageOf('/moved', { title: 'twice', parts: [['Same', 'One text.']] }))
    expect(moved[0]?.id).not.toBe(ids[0])
    expect(moved[0]?.hash).toBe(chunksOf(said)[0]?.hash)
  })

  it('returns one chunk for a page without text, and one for a heading without text', () => {
    expect(chunksOf(pageOf('/empty', { title: 'Empty', description: 'Says nothing.' }))).toMatchObject([
      { markdown: 'Says nothing.' },
    ])
    expect(chunksOf(pageOf('/bare', { parts: [['Alone', '']] }))).toMatchObject([
      { headingId: 'alone', markdown: '' },
    ])
  })

  it('keeps every word of any Markdown', () => {
    const piece = fc.oneof(
      fc.lorem({ maxCount: 40 }),
      fc.constantFrom('\n', '\n\n', '```\n', '~~~', '# x', '| a | b |', words(300)),
    )
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join('\n')
        const of = (said: string): string[] => said.match(/[a-z0-9]+/g) ?? []
        const kept = new Set(chunksOf(pageOf('/any', { text })).flatMap(({ markdown }) => of(markdown)))
        for (const word of of(text)) expect(kept).toContain(word)
      }),
      { numRuns: 50 },
    )
  })
})
