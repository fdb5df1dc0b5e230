import { describe, expect, it } from 'vitest'
import { queriesOf, strengthOf } from '../../../../services/docs/ask/evidence.js'

describe('evidence', () => {
  it.each([
    ['good', 'means the same in other words', [{ similarity: 0.55, coverage: 0 }]],
    ['good', 'has the rare words, and is near', [{ similarity: 0.3, coverage: 1 }]],
    ['good', 'has the rare words, without a model', [{ similarity: undefined, coverage: 0.6 }]],
    ['good', 'is near, and has some of the rare words', [{ similarity: 0.42, coverage: 0.3 }]],
    ['good', 'has all of the words, and is not far', [{ similarity: 0.12, coverage: 1 }]],
    ['weak', 'is near, and has hardly a word', [{ similarity: 0.42, coverage: 0.1 }]],
    ['weak', 'has the words in another meaning', [{ similarity: 0.13, coverage: 0.6 }]],
    ['weak', 'is of a near subject', [{ similarity: 0.34, coverage: 0 }]],
    ['weak', 'has some of the words, without a model', [{ similarity: undefined, coverage: 0.3 }]],
    ['none', 'is of something else', [{ similarity: 0.1, coverage: 0.1 }]],
    ['none', 'has none of the words, without a model', [{ similarity: undefined, coverage: 0.1 }]],
    ['none', 'is not there', []],
  ])('is %s if a passage %s', (strength, _, passages) => {
    expect(strengthOf(passages)).toBe(strength)
    expect(strengthOf([{ similarity: 0, coverage: 0 }, ...passages])).toBe(strength)
  })
})

describe('a name that is on no page', () => {
  it('makes the evidence weak at most', () => {
    const near = [{ similarity: 0.7, coverage: 0.8 }]
    expect(strengthOf(near, ['REDIS_CACHE_TTL'])).toBe('weak')
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
