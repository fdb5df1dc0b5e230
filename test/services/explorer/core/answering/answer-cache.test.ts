import { afterEach, describe, expect, it, vi } from 'vitest'
import { AnswerCache, type Dependence } from '../../../../../services/explorer/core/answering/answer-cache.js'
import { CachedAnswer } from '../../../../../services/explorer/core/answering/cached-answer.js'
import type { Change } from '../../../../../services/explorer/core/state/change.js'

const MIB = 2 ** 20
const FOREVER = Number.POSITIVE_INFINITY
const answerOf = (bytes: number): CachedAnswer =>
  new CachedAnswer({ body: Buffer.alloc(bytes), etag: '"x"' }, { path: '/x', finalFrom: FOREVER })
const on = (...keys: string[]): Dependence => ({ on: keys, untilMs: FOREVER })
const change = (kind: Change['kind'], ...touched: string[]): Change => ({ kind, touched: new Set(touched) })

describe('the cache of answers', () => {
  /** A cache with one answer for each kind of dependence, and the keys that are still there after a change. */
  function keptAfter(changed: Change): string[] {
    const cache = new AnswerCache()
    const dependences: Record<string, Dependence> = {
      tx: on('a', 'b'),
      address: on('c'),
      head: on('head'),
      mempool: on('head', 'mempool'),
      summary: on('head', 'mempool', 'heartbeat'),
    }
    for (const [key, dependence] of Object.entries(dependences)) cache.keep(key, answerOf(1), dependence, 0)
    cache.apply(changed)
    return Object.keys(dependences).filter((key) => cache.get(key) !== undefined)
  }

  it('drops exactly the answers that depend on what a change touches', () => {
    expect(keptAfter(change('head'))).toEqual(['tx', 'address'])
    expect(keptAfter(change('head', 'b', 'x'))).toEqual(['address'])
    expect(keptAfter(change('mempool'))).toEqual(['tx', 'address', 'head'])
    expect(keptAfter(change('mempool', 'c'))).toEqual(['tx', 'head'])
    expect(keptAfter(change('heartbeat'))).toEqual(['tx', 'address', 'head', 'mempool'])
    expect(keptAfter({ kind: 'head', touched: undefined })).toEqual([])
    // More hashes than there are dependences.
    const many = Array.from({ length: 100 }, (_, index) => `x${String(index)}`)
    expect(keptAfter(change('mempool', ...many, 'a'))).toEqual(['address', 'head'])
  })

  it('does not keep an answer that a change affects which happened while it was made', () => {
    const kept = (during: Change, dependence: Dependence): boolean => {
      const cache = new AnswerCache()
      cache.apply(change('head', 'a'))
      const { clock } = cache
      cache.apply(during)
      cache.keep('key', answerOf(1), dependence, clock)
      return cache.get('key') !== undefined
    }
    expect(kept(change('head', 'b'), on('a'))).toBe(true)
    expect(kept(change('mempool', 'a'), on('a'))).toBe(false)
    expect(kept(change('head', 'b'), on('head'))).toBe(false)
    expect(kept(change('heartbeat'), on('head', 'mempool'))).toBe(true)
    expect(kept({ kind: 'mempool', touched: undefined }, on('a'))).toBe(false)
  })

  it('does not keep an answer that was begun before the changes that it remembers', () => {
    const cache = new AnswerCache()
    const { clock } = cache
    for (let count = 0; count < 1_000; count++) cache.apply(change('mempool', 'b'))
    cache.keep('old', answerOf(1), on('a'), clock)
    cache.keep('new', answerOf(1), on('a'), cache.clock)
    expect([cache.get('old'), cache.get('new')].map((answer) => answer !== undefined)).toEqual([false, true])
  })

  it('replaces an answer under the same key, with what it depends on', () => {
    const cache = new AnswerCache()
    const [first, second] = [answerOf(1), answerOf(2)]
    cache.keep('key', first, on('a'), 0)
    cache.link(first, '/first')
    cache.keep('key', second, on('b'), 0)
    expect(cache.byUrl('/first')).toBeUndefined()
    cache.apply(change('head', 'a'))
    expect(cache.get('key')).toBe(second)
    cache.apply(change('head', 'b'))
    expect(cache.get('key')).toBeUndefined()
    expect([cache.bytes, cache.size]).toEqual([0, 0])
  })

  it('evicts the least recently requested answers when it is full, and keeps no very large one', () => {
    const cache = new AnswerCache(12 * MIB)
    // The last one is kept when it is made a second time.
    for (const key of ['a', 'b', 'c', 'd', 'e', 'e']) {
      cache.keep(key, answerOf(2.9 * MIB), on('x'), 0)
      // Requested repeatedly, so that it stays.
      expect(cache.get('a')).toBeDefined()
    }
    cache.keep('large', answerOf(3.1 * MIB), on('x'), 0)
    const kept = ['a', 'b', 'c', 'd', 'e', 'large'].filter((key) => cache.get(key) !== undefined)
    expect(kept).toEqual(['a', 'c', 'd', 'e'])
    expect(cache.dropped).toEqual({ changed: 0, evicted: 1 })
  })

  it('evicts nothing for answers that are made once, but for one that is made again after a change', () => {
    const cache = new AnswerCache(12 * MIB)
    for (const key of ['a', 'b', 'c', 'd']) cache.keep(key, answerOf(2.9 * MIB), on(key), 0)
    // So many that they replace all keys that the cache remembers.
    const once = answerOf(2.9 * MIB)
    for (let index = 0; index < 500_000; index++) cache.keep(`once ${String(index)}`, once, on('x'), 0)
    const kept = () => ['a', 'b', 'c', 'd', 'once 499999'].filter((key) => cache.get(key) !== undefined)
    expect(kept()).toEqual(['a', 'b', 'c', 'd'])
    // The room of an answer that changed goes to another one, and is given back when the answer is made again.
    cache.apply(change('head', 'a'))
    cache.keep('other', answerOf(2.9 * MIB), on('x'), cache.clock)
    cache.keep('a', answerOf(2.9 * MIB), on('a'), cache.clock)
    expect(kept()).toEqual(['a', 'c', 'd'])
    expect(cache.dropped).toEqual({ changed: 1, evicted: 1 })
  })

  it('counts what is added to an answer, and evicts for it', () => {
    const cache = new AnswerCache(4 * MIB)
    const [one, two] = [answerOf(MIB), answerOf(MIB)]
    cache.keep('one', one, on('x'), 0)
    cache.keep('two', two, on('x'), 0)
    cache.grow(two, 2.5 * MIB)
    expect([cache.get('one'), cache.get('two')]).toEqual([undefined, two])
    cache.apply(change('head', 'x'))
    expect(cache.bytes).toBe(0)
    cache.grow(two, MIB)
    expect(cache.bytes).toBe(0)
  })

  it('finds an answer by a few of its URLs, until it is dropped', () => {
    const cache = new AnswerCache()
    const answer = answerOf(1)
    cache.link(answer, '/before')
    cache.keep('key', answer, on('a'), 0)
    for (const url of ['/1', '/2', '/3', '/4', '/5']) cache.link(answer, url)
    expect(['/before', '/1', '/4', '/5'].map((url) => cache.byUrl(url) === answer)).toEqual([
      false,
      true,
      true,
      false,
    ])
    cache.hit(answer)
    expect(cache.requests).toEqual({ hit: 1, miss: 0 })
    cache.apply(change('mempool', 'a'))
    expect(cache.byUrl('/1')).toBeUndefined()
  })

  it('names the answers that were requested often when a change drops them, once', () => {
    const cache = new AnswerCache<string>()
    for (const [key, requests] of [['hot', 16] as const, ['cold', 15] as const]) {
      cache.keep(key, answerOf(1), on('head'), 0, `origin of ${key}`)
      for (let count = 0; count < requests; count++) cache.get(key)
    }
    cache.apply(change('mempool'))
    expect(cache.takeHot()).toEqual([])
    cache.apply(change('head'))
    expect(cache.takeHot()).toEqual(['origin of hot'])
    expect(cache.takeHot()).toEqual([])
  })

  describe('by the clock', () => {
    afterEach(() => {
      vi.useRealTimers()
    })

    it('drops an answer at its time, and any answer after ten minutes', () => {
      vi.useFakeTimers({ now: 0 })
      const cache = new AnswerCache()
      cache.keep('second', answerOf(1), { on: ['head'], untilMs: 1_000 }, 0)
      cache.keep('tx', answerOf(1), on('a'), 0)
      const kept = (): boolean[] => ['second', 'tx'].map((key) => cache.get(key) !== undefined)
      expect(kept()).toEqual([true, true])
      vi.setSystemTime(1_000)
      expect(kept()).toEqual([false, true])
      vi.setSystemTime(600_000)
      expect(kept()).toEqual([false, false])
    })
  })
})
