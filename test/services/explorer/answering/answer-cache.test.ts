import { describe, expect, it } from 'vitest'
import {
  AnswerCache,
  JSON_ENCODING,
  matchesTag,
  type Moment,
} from '../../../../services/explorer/answering/answer-cache.js'

const NOW: Moment = { position: 1, tipHash: 'aa', mempoolVersion: 1, definitions: 1 }
const MIB = 2 ** 20
const answerOf = (bytes: number) => ({ body: Buffer.alloc(bytes), etag: '' })

describe('the cache of answers', () => {
  it('keeps answers of the head until the next head, and answers of the mempool until either changes', () => {
    const cache = new AnswerCache()
    const keep = (moment: Moment): void => {
      cache.get('head', '', moment)
      for (const fresh of ['head', 'mempool', 'live'] as const) cache.keep(fresh, 'key', answerOf(1), moment)
    }
    const kept = (moment: Moment): boolean[] =>
      (['head', 'mempool', 'live'] as const).map((fresh) => cache.get(fresh, 'key', moment) !== undefined)
    keep(NOW)
    expect(kept(NOW)).toEqual([true, true, false])
    expect(kept({ ...NOW, mempoolVersion: 2 })).toEqual([true, false, false])
    for (const other of [{ position: 2 }, { tipHash: 'bb' }, { definitions: 2 }]) {
      keep(NOW)
      expect(kept({ ...NOW, ...other }), JSON.stringify(other)).toEqual([false, false, false])
    }
  })

  it('does not keep an answer of an earlier state', () => {
    const cache = new AnswerCache()
    cache.get('head', 'key', { ...NOW, position: 2 })
    cache.keep('head', 'key', answerOf(1), NOW)
    expect(cache.get('head', 'key', { ...NOW, position: 2 })).toBeUndefined()
  })

  it('evicts the least recently requested answers when it is full, and keeps no very large one', () => {
    const cache = new AnswerCache()
    cache.get('head', '', NOW)
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      cache.keep('head', key, answerOf(2.9 * MIB), NOW)
      // Requested repeatedly, so that it stays.
      expect(cache.get('head', 'a', NOW)).toBeDefined()
    }
    cache.keep('head', 'large', answerOf(3.1 * MIB), NOW)
    const kept = ['a', 'b', 'c', 'd', 'e', 'large'].filter((key) => cache.get('head', key, NOW) !== undefined)
    expect(kept).toEqual(['a', 'c', 'd', 'e'])
  })
})

it('identifies an answer by its bytes and the state that it describes', () => {
  const one = JSON_ENCODING.encode({ a: 1 }, '00ff')
  expect(one.body.toString()).toBe('{"a":1}')
  expect(JSON_ENCODING.encode({ a: 1 }, '00ff').etag).toBe(one.etag)
  expect(JSON_ENCODING.encode({ a: 2 }, '00ff').etag).not.toBe(one.etag)
  expect(JSON_ENCODING.encode({ a: 1 }, '00fe').etag).not.toBe(one.etag)
  for (const header of [one.etag, `W/${one.etag}`, `"x", ${one.etag}`, '*'])
    expect(matchesTag(header, one.etag), header).toBe(true)
  expect(matchesTag('"x"', one.etag)).toBe(false)
})
