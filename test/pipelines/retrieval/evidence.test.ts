import { describe, expect, it } from 'vitest'
import { coverage, weigh, wordsOf } from '../../../pipelines/retrieval/evidence.js'
import { PageIndexer, Snapshot } from '../../../pipelines/retrieval/index/snapshot.js'
import { questionOf } from '../../../pipelines/retrieval/words/question.js'
import { wordVector } from './fake-model.js'
import { pageOf } from './pages.js'

const PAGES = [
  pageOf('/pictures', {
    title: 'Pictures',
    text: 'Images take much memory. Resize images before you send them.',
  }),
  pageOf('/limits', { title: 'Limits', text: 'RATE_LIMIT_PER_MINUTE limits what a client sends.' }),
  pageOf('/other', { title: 'Other', text: 'Messages are stored, and sent again.' }),
]
const indexer = new PageIndexer()
const snapshot = new Snapshot('1', indexer.index(PAGES), indexer.lexicon)
const of = (question: string, chunk: number): number =>
  coverage(snapshot, wordsOf(snapshot, questionOf(question)), chunk)

describe('coverage without a model', () => {
  it('is 1 if a passage or its title contains every word, and 0 if it contains none', () => {
    expect(of('how much memory do pictures take?', 0)).toBe(1)
    expect(of('zeppelin', 0)).toBe(0)
    expect(of('what is it?', 0)).toBeLessThanOrEqual(1)
  })

  it('counts a name once, as a whole or by its parts', () => {
    expect(of('RATE_LIMIT_PER_MINUTE', 1)).toBe(1)
    expect(of('rate limit per minute', 1)).toBe(1)
    expect(of('RATE_LIMIT_PER_HOUR', 1)).toBe(0)
  })

  it('gives the highest weight to words that are on no page', () => {
    expect(of('encrypt messages', 2)).toBeLessThan(0.5)
  })
})

describe('coverage with a model', () => {
  const text = 'send big photographs'
  const question = questionOf(text)

  /** A model for which the question is nearer to a passage with a word than without it, by this difference. */
  async function covered(difference: number): Promise<number> {
    const vector = wordVector(text)
    const words = await weigh(
      wordsOf(snapshot, question),
      { text, vector },
      {
        question: (rest) => Promise.resolve(wordVector(rest)),
        passage: (rest) => Promise.resolve(wordVector(rest)),
      },
    )
    const lost = words.find(({ token }) => token.term === 'photograph')?.rest
    expect(lost).toEqual(wordVector('send big'))
    return coverage(snapshot, words, 0, (rest) => (rest === lost ? 0.6 - difference : 0.6))
  }

  it('counts a word that the passage is about in other words', async () => {
    expect(await covered(0.5)).toBeGreaterThan((await covered(0)) + 0.2)
  })

  it('counts a word by its degree if the passage has less than half of it, and against a passage that is nearer without it', async () => {
    const [less, none, against] = [await covered(0.07), await covered(0), await covered(-0.3)]
    expect(less).toBeGreaterThan(none)
    expect(less - none).toBeLessThan(0.5 * ((await covered(0.5)) - none))
    expect(against).toBeLessThan(none - 0.05)
    expect(await covered(-3)).toBeGreaterThanOrEqual(-0.4)
  })
})
