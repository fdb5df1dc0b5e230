import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Feed, reactTo } from '../../../../../services/explorer/core/feed/feed.js'

describe('the feed', () => {
  let sent: string[]
  let feed: Feed

  beforeEach(() => {
    sent = []
    feed = new Feed((_, message) => sent.push(message))
  })

  const say = (message: unknown): unknown[] =>
    reactTo(feed, typeof message === 'string' ? message : JSON.stringify(message)).replies.map(
      (reply) => JSON.parse(reply) as unknown,
    )
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

  it('answers subscribe, unsubscribe and ping', () => {
    const subscribed = reactTo(feed, '{"type":"subscribe","channel":"blocks"}')
    expect(subscribed).toEqual({
      replies: ['{"type":"subscribed","channel":"blocks"}'],
      ...{ unsubscribe: 'blocks', subscribe: 'blocks' },
    })
    const left = reactTo(feed, '{"type":"unsubscribe","channel":"reorgs"}')
    expect(left).toEqual({ replies: ['{"type":"unsubscribed","channel":"reorgs"}'], unsubscribe: 'reorgs' })
    expect(say({ type: 'ping' })).toEqual([{ type: 'pong' }])
  })

  it.each([
    'no json',
    'null',
    '7',
    '[]',
    '{}',
    '{"type":"publish"}',
    '{"type":"subscribe"}',
    '{"type":"subscribe","channel":"whales"}',
    '{"type":"unsubscribe","channel":7}',
    '{"type":"subscribe","channel":"__proto__"}',
    '{"type":"subscribe","channel":"blocks","since":-1}',
    '{"type":"subscribe","channel":"blocks","since":"3"}',
    '{"type":"subscribe","channel":"blocks","since":1.5}',
    '{"type":"subscribe","channel":"mempool","removals":1}',
    '{"type":"subscribe","channel":"blocks","removals":true}',
  ])('answers %s with an error and subscribes to nothing', (text) => {
    const reaction = reactTo(feed, text)
    expect(reaction.subscribe).toBeUndefined()
    expect(reaction.replies).toHaveLength(1)
    expect(say(text)).toEqual([
      { type: 'error', error: expect.any(String) as string, code: 'HW_INVALID_ARGUMENT' },
    ])
  })

  it('resumes arrivals, and arrivals with removals, each by its own numbers', () => {
    const event = (txid: string) => ({ txid })
    feed.publish('mempool', event('a'), 1)
    feed.publish('mempool-with-removals', event('a'), 1)
    feed.publish('mempool-with-removals', { txid: 'a', removed: {} }, 2)
    feed.publish('mempool', event('b'), 2)
    feed.publish('mempool-with-removals', event('b'), 3)
    const both = reactTo(feed, '{"type":"subscribe","channel":"mempool","removals":true,"since":1}')
    expect(both).toEqual({
      replies: [
        '{"type":"subscribed","channel":"mempool","removals":true}',
        '{"channel":"mempool","data":{"txid":"a","removed":{}},"seq":2}',
        '{"channel":"mempool","data":{"txid":"b"},"seq":3}',
      ],
      ...{ unsubscribe: 'mempool', subscribe: 'mempool-with-removals' },
    })
    const arrivals = reactTo(feed, '{"type":"subscribe","channel":"mempool","removals":false,"since":1}')
    expect(arrivals).toEqual({
      replies: [
        '{"type":"subscribed","channel":"mempool"}',
        '{"channel":"mempool","data":{"txid":"b"},"seq":2}',
      ],
      ...{ unsubscribe: 'mempool', subscribe: 'mempool' },
    })
  })

  it('replays missed events in order, and then continues', () => {
    publish(10)
    const replies = say({ type: 'subscribe', channel: 'blocks', since: 7 })
    expect(replies).toMatchObject([{ type: 'subscribed' }, { seq: 8 }, { seq: 9 }, { seq: 10 }])
    expect(say({ type: 'subscribe', channel: 'blocks', since: 10 })).toHaveLength(1)
    expect(say({ type: 'subscribe', channel: 'blocks', since: 0 })).toHaveLength(11)
  })

  it('sends resync if it does not know all missed events, or not yet', () => {
    feed.begin('blocks', 100)
    publish(2000)
    const resync = { type: 'resync', channel: 'blocks' }
    expect(say({ type: 'subscribe', channel: 'blocks', since: 500 })[1]).toEqual(resync)
    expect(say({ type: 'subscribe', channel: 'blocks', since: 3101 })[1]).toEqual(resync)
    expect(say({ type: 'subscribe', channel: 'blocks', since: 1100 })).toHaveLength(1001)
    expect(reactTo(feed, '{"type":"subscribe","channel":"blocks","since":500}').subscribe).toBe('blocks')
  })

  it('waits for events that the client has from another process, and replays none of them', async () => {
    feed.begin('blocks', 100)
    publish(2)
    const { replies, subscribe, later } = reactTo(feed, '{"type":"subscribe","channel":"blocks","since":104}')
    expect(replies).toEqual(['{"type":"subscribed","channel":"blocks"}'])
    expect(subscribe).toBeUndefined()
    let isReached = false
    const reached = later?.reached(new AbortController().signal).then(() => (isReached = true))
    publish(1)
    await new Promise(setImmediate)
    expect(isReached).toBe(false)
    publish(2)
    await reached
    const reaction = later?.react()
    expect(reaction?.subscribe).toBe('blocks')
    expect(reaction?.replies.map((reply) => JSON.parse(reply) as unknown)).toMatchObject([{ seq: 105 }])
  })

  it('sends resync if the events that the client claims to have do not come', async () => {
    publish(1)
    const { later } = reactTo(feed, '{"type":"subscribe","channel":"blocks","since":3}')
    await later?.reached(AbortSignal.abort())
    expect(later?.react()).toEqual({
      replies: ['{"type":"resync","channel":"blocks"}'],
      ...{ unsubscribe: 'blocks', subscribe: 'blocks' },
    })
    expect(feed.waiting).toBe(0)
  })

  it('sends events without a number of their own to the process that numbers them', () => {
    const offered: unknown[] = []
    const shared = new Feed(
      (_, message) => sent.push(message),
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
})
