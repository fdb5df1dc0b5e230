import { readFileSync } from 'node:fs'
import GithubSlugger from 'github-slugger'
import { describe, expect, it } from 'vitest'
import { proseOf } from '../content/pages.js'
import { judgedAnswers, SITES } from './answers.js'

describe.each(['answers.jsonl', 'answers-held-out.jsonl'])('the judged answers of %s', (file) => {
  const judged = judgedAnswers(file)

  it('are enough of each kind, and all different', () => {
    for (const site of Object.keys(SITES))
      for (const kind of ['answerable', 'unanswerable', 'off-topic'])
        expect(
          judged.filter((each) => each.site === site && each.kind === kind).length,
        ).toBeGreaterThanOrEqual(10)
    expect(new Set(judged.map(({ question }) => question.toLowerCase())).size).toBe(judged.length)
  })

  it('name sections that exist', () => {
    const wrong = judged.flatMap(({ site, answers }) =>
      answers.filter((answer) => {
        const [file = '', id = ''] = answer.split('#')
        return !idsOf(readFileSync(`${SITES[site]}/${file}`, 'utf8')).has(id)
      }),
    )
    expect(wrong).toEqual([])
  })

  it('name an answer if there is one, and only then', () => {
    for (const { kind, answers, question } of judged)
      expect(answers.length > 0, question).toBe(kind === 'answerable')
  })
})

/** Returns the ids of a file's headings, and the empty one of the text above the first heading. */
function idsOf(source: string): Set<string> {
  const slugger = new GithubSlugger()
  const headings = proseOf(source).matchAll(/^#{1,6} +(.+)$/gm)
  return new Set(['', ...Array.from(headings, ([, text = '']) => slugger.slug(text.replaceAll('`', '')))])
}
