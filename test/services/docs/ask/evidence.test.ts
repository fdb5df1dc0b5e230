import { describe, expect, it } from 'vitest'
import { queriesOf, strengthOf } from '../../../../services/docs/ask/evidence.js'

describe('evidence', () => {
  it.each([
    ['good', 'is near, and covers the question', [{ similarity: 0.55, coverage: 0.9 }]],
    ['good', 'covers most of it, and is not far', [{ similarity: 0.3, coverage: 0.65 }]],
    ['good', 'covers it, without a model', [{ similarity: undefined, coverage: 0.6 }]],
    ['good', 'is very near, and has some of its words', [{ similarity: 0.65, coverage: 0.3 }]],
    ['weak', 'is very near, but lacks what makes it this question', [{ similarity: 0.8, coverage: 0.1 }]],
    ['weak', 'is near, but lacks what makes it this question', [{ similarity: 0.6, coverage: 0.3 }]],
    ['weak', 'has the words in another meaning', [{ similarity: 0.13, coverage: 1 }]],
    ['weak', 'has some of the words, without a model', [{ similarity: undefined, coverage: 0.3 }]],
    ['none', 'is of something else', [{ similarity: 0.1, coverage: 0.1 }]],
    ['none', 'has none of the words, without a model', [{ similarity: undefined, coverage: 0.1 }]],
    ['none', 'is not there', []],
  ])('is %s if the best passage %s', (strength, _, passages) => {
    expect(strengthOf(passages)).toBe(strength)
  })

  it('is not good because a later passage happens to have the words', () => {
    const passages = [
      { similarity: 0.6, coverage: 0.2 },
      { similarity: 0.6, coverage: 0.9 },
    ]
    expect(strengthOf(passages)).toBe('weak')
  })
})

describe('a name that is on no page', () => {
  it('is a reason to decline only if nothing else carries the question', () => {
    const [name, other] = [['REDIS_CACHE_TTL'], [{ similarity: 0.6, coverage: 0.4 }]]
    expect(strengthOf(other)).toBe('good')
    expect(strengthOf(other, name)).toBe('weak')
    expect(strengthOf([{ similarity: 0.6, coverage: 0.6 }], name)).toBe('good')
    expect(strengthOf([{ similarity: undefined, coverage: 0.6 }], name)).toBe('weak')
    expect(strengthOf([{ similarity: undefined, coverage: 0.7 }], name)).toBe('good')
    expect(strengthOf([{ similarity: 0.1, coverage: 0.1 }], ['REDIS_CACHE_TTL'])).toBe('none')
  })
})

describe('the search query', () => {
  const user = (text: string) => ({ role: 'user' as const, text })
  const assistant = { role: 'assistant' as const, text: 'So.' }

  it('is the last question, together with the question before it if it is short', () => {
    expect(queriesOf([user('How?')])).toEqual(['How?'])
    expect(queriesOf([user('How?'), assistant, user(' And then? ')])).toEqual([
      'And then?',
      'How?\nAnd then?',
    ])
    const long = 'a question that says by itself what it is about in more than twelve words'
    expect(queriesOf([user('How?'), assistant, user(long)])).toEqual([long])
  })
})
