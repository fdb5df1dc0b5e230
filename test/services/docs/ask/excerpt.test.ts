import { describe, expect, it } from 'vitest'
import { excerpt } from '../../../../services/docs/ask/excerpt.js'

describe('an excerpt', () => {
  const code = '```ts\nembed({ maxRetries: 0 })\n```'

  it('is the paragraph that answers, with the code after it', () => {
    const markdown = `Embeddings are vectors.\n\nA request is retried twice.\n\n${code}\n\nHeaders may be sent.`
    expect(excerpt(markdown, 'How often is it retried?')).toBe(`A request is retried twice.\n\n${code}\n\n…`)
  })

  it('is the code that answers, with the paragraph before it', () => {
    const markdown = `Set it.\n\n${code}\n\nHeaders may be sent.`
    expect(excerpt(markdown, 'What is maxRetries?')).toBe(`Set it.\n\n${code}\n\n…`)
  })

  it('cuts a long paragraph around the sentence that answers', () => {
    const filler = Array.from({ length: 20 }, (_, at) => `Sentence number ${String(at)} says nothing.`)
    const markdown = [...filler, 'The port is 4983.', ...filler].join(' ')
    const cut = excerpt(markdown, 'Which port?')
    expect(cut).toMatch(/^… The port is 4983\. Sentence number 0 .* …$/)
    expect(cut.length).toBeLessThan(510)
  })

  it('keeps the head of a long table, and the row that answers', () => {
    const rows = Array.from({ length: 80 }, (_, at) => `| name${String(at)} | ${String(at)} |`)
    const cut = excerpt(['| name | value |', '|---|---|', ...rows].join('\n'), 'What is name70?').split('\n')
    expect(cut.slice(0, 2)).toEqual(['| name | value |', '|---|---|'])
    expect(cut).toContain('| name70 | 70 |')
    expect(cut).toHaveLength(26)
  })

  it('keeps the fences of long code', () => {
    const lines = Array.from({ length: 80 }, (_, at) => `line${String(at)}()`)
    const cut = excerpt(['```ts', ...lines, '```'].join('\n'), 'line40').split('\n')
    expect([cut[0], cut.at(-1)]).toEqual(['```ts', '```'])
    expect(cut).toContain('line40()')
  })

  it('is the first block if no word of the question occurs', () => {
    expect(excerpt('One.\n\nTwo.', 'zeppelin')).toBe('One.\n\n…')
    expect(excerpt('', 'zeppelin')).toBe('')
  })
})
