import { describe, expect, it } from 'vitest'
import { Numbering } from './feed-watch.js'

describe('the numbers of the feed', () => {
  it('are consecutive, across connections too', () => {
    const numbers = new Numbering()
    for (const seq of [41, 42, 43]) numbers.event('blocks', seq)
    numbers.event('reorgs', 7)
    expect(numbers.since('blocks')).toBe(43)
    expect(numbers.faults).toEqual([])
  })

  // Seed 7: the explorer was killed before it had published a block, and nothing requested the blocks of the
  // meantime.
  it('continue from the state of the chain at the start if no event was received before', () => {
    const numbers = new Numbering([['blocks', 61]])
    expect(numbers.since('blocks')).toBe(61)
    numbers.event('blocks', 63)
    expect(numbers.faults).toEqual(['the feed sends blocks 63 after 61'])
  })

  it.each([
    ['a gap', 45],
    ['a duplicate', 43],
    ['an older one', 12],
  ])('show %s', (_, seq) => {
    const numbers = new Numbering()
    numbers.event('mempool', 43)
    numbers.event('mempool', seq)
    expect(numbers.faults).toEqual([`the feed sends mempool ${String(seq)} after 43`])
  })

  it('may start over once after the explorer’s start if the explorer numbers the channel', () => {
    const numbers = new Numbering()
    for (const channel of ['stats', 'blocks'] as const) numbers.event(channel, 5)
    numbers.explorerStarts()
    numbers.resync('stats')
    numbers.event('stats', 900)
    expect(numbers.faults).toEqual([])
    numbers.resync('stats')
    numbers.resync('blocks')
    expect(numbers.faults).toEqual([
      'the feed sends resync on stats after 900',
      'the feed sends resync on blocks after 5',
    ])
  })
})
