import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readPages } from '../content/pages.js'

interface Judgement {
  readonly question: string
  /** URLs, best first. */
  readonly pages: readonly string[]
  readonly reason: string
}

const judgements = readFileSync(new URL('judgements.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Judgement)

describe('the judged questions', () => {
  it('are enough, and all different', () => {
    expect(judgements.length).toBeGreaterThanOrEqual(110)
    expect(new Set(judgements.map(({ question }) => question.toLowerCase())).size).toBe(judgements.length)
  })

  it('name pages that exist, each once, with a reason', () => {
    const urls = new Set(readPages().map(({ url }) => url))
    const wrong = judgements.filter(
      ({ question, pages, reason }) =>
        question.trim() === '' ||
        reason.trim() === '' ||
        pages.length === 0 ||
        new Set(pages).size !== pages.length ||
        pages.some((page) => !urls.has(page)),
    )
    expect(wrong).toEqual([])
  })

  it('cover most of the pages', () => {
    const requested = new Set(judgements.flatMap(({ pages }) => pages))
    const own = readPages().filter(({ url }) => !url.startsWith('/decisions/'))
    const never = own.map(({ url }) => url).filter((url) => !requested.has(url))
    expect(never.length, never.join(' ')).toBeLessThan(own.length / 5)
  })
})
