import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'

describe('the feed', () => {
  let sent: string[]
  let feed: Feed

  beforeEach(() => {
    sent = []
    feed = new Feed((_, { text }) => sent.push(text))
  })

  const publish = (count: number): void => {
    for (let index = 0; index < count; index++) feed.publish('blocks', { height: index })
  }

  it('numbers the events of a channel consecutively and sends none twice', () => {
    feed.begin('blocks', 41)
    feed.publish('blocks', { height: 5 }, 42)
    feed.publish('blocks', { height: 5 }, 42)
    feed.publish('blocks', { height: 6 }, 43)
    expect(sent.map((message) => JSON.parse(message) as unknown)).toEqual([
      { channel: 'blocks', data: { height: 5 }, seq: 42 },
      { channel: 'blocks', data: { height: 6 }, seq: 43 },
    ])
  })

  it('sends events without a number of their own to the process that numbers them', () => {
    const offered: unknown[] = []
    const shared = new Feed(
      (_, { text }) => sent.push(text),
      (...offer) => offered.push(offer),
    )
    shared.announce('whale-alerts', 'ab', { txid: 'ab' })
    expect(offered).toEqual([['whale-alerts', 'ab', { txid: 'ab' }]])
    expect(sent).toEqual([])
    feed.announce('stats', '', { tip: 1 })
    expect(sent).toHaveLength(1)
  })

  it('never replays across a gap in the numbers', () => {
    publish(3)
    feed.publish('blocks', {}, 10)
    expect(feed.missed('blocks', 2)).toBeUndefined()
    expect(feed.missed('blocks', 9)).toHaveLength(1)
  })

  it('numbers stats above those of any earlier run', () => {
    for (let index = 0; index < 3; index++) feed.publish('stats', {})
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 })
    const later = new Feed(() => undefined)
    vi.useRealTimers()
    expect(later.lastOf('stats')).toBeGreaterThan(feed.lastOf('stats'))
    expect(later.missed('stats', feed.lastOf('stats'))).toBeUndefined()
  })

  it('stops to wait for events that never come, also if garbage is collected meanwhile', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const collecting = setInterval(collect, 100)
    const caughtUp = feed.caughtUp('blocks', 5, new AbortController().signal)
    expect(caughtUp).toBeDefined()
    await caughtUp
    clearInterval(collecting)
    expect(feed.lastOf('blocks')).toBe(0)
    // Without its timer it would wait without end, and the usual limit is ten minutes.
  }, 60_000)
})
