import { beforeEach, describe, expect, it } from 'vitest'
import { Feed } from '../../../../../services/explorer/core/feed/feed.js'
import { until } from '../../../../harness/until.js'
import { FakeSocket } from './fake-socket.js'

describe('a client of the feed', () => {
  let feed: Feed
  let client: FakeSocket

  beforeEach(() => {
    feed = new Feed(() => undefined)
    client = new FakeSocket(feed)
  })

  const publish = (count: number): void => {
    for (let index = 0; index < count; index++) feed.publish('blocks', { height: index })
  }

  it('subscribes, unsubscribes and pings', () => {
    expect(client.say({ type: 'subscribe', channel: 'blocks' })).toEqual([
      { type: 'subscribed', channel: 'blocks' },
    ])
    expect([...client.subscribed]).toEqual(['blocks'])
    expect(client.say({ type: 'unsubscribe', channel: 'blocks' })).toEqual([
      { type: 'unsubscribed', channel: 'blocks' },
    ])
    expect(client.subscribed.size).toBe(0)
    expect(client.say({ type: 'ping' })).toEqual([{ type: 'pong' }])
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
    '{"type":"subscribe","channel":"address:a","removals":true}',
  ])('receives an error for %s and subscribes to nothing', (text) => {
    expect(client.say(text)).toEqual([
      { type: 'error', error: expect.any(String) as string, code: 'HW_INVALID_ARGUMENT' },
    ])
    expect(client.subscribed.size).toBe(0)
  })

  it('receives an error for a binary message', () => {
    client.session.message('{"type":"ping"}', true)
    expect(client.replies()).toMatchObject([{ type: 'error', error: 'messages must be text' }])
  })

  it('resumes arrivals, and arrivals with removals, each by its own numbers', () => {
    const event = (txid: string) => ({ txid })
    feed.publish('mempool', event('a'), 1)
    feed.publish('mempool-with-removals', event('a'), 1)
    feed.publish('mempool-with-removals', { txid: 'a', removed: {} }, 2)
    feed.publish('mempool', event('b'), 2)
    feed.publish('mempool-with-removals', event('b'), 3)
    const subscribe = { type: 'subscribe', channel: 'mempool', since: 1 }
    expect(client.say({ ...subscribe, removals: true })).toEqual([
      { type: 'subscribed', channel: 'mempool', removals: true },
      { channel: 'mempool', data: { txid: 'a', removed: {} }, seq: 2 },
      { channel: 'mempool', data: { txid: 'b' }, seq: 3 },
    ])
    expect([...client.subscribed]).toEqual(['mempool-with-removals'])
    expect(client.say({ ...subscribe, removals: false })).toEqual([
      { type: 'subscribed', channel: 'mempool' },
      { channel: 'mempool', data: { txid: 'b' }, seq: 2 },
    ])
    expect([...client.subscribed]).toEqual(['mempool'])
  })

  it('receives missed events in order, and then continues', () => {
    publish(10)
    const replies = client.say({ type: 'subscribe', channel: 'blocks', since: 7 })
    expect(replies).toMatchObject([{ type: 'subscribed' }, { seq: 8 }, { seq: 9 }, { seq: 10 }])
    expect(client.say({ type: 'subscribe', channel: 'blocks', since: 10 })).toHaveLength(1)
    expect(client.say({ type: 'subscribe', channel: 'blocks', since: 0 })).toHaveLength(11)
  })

  it('receives resync if not all missed events are known, or not yet', () => {
    feed.begin('blocks', 100)
    publish(2000)
    const resync = { type: 'resync', channel: 'blocks' }
    expect(client.say({ type: 'subscribe', channel: 'blocks', since: 500 })[1]).toEqual(resync)
    expect([...client.subscribed]).toEqual(['blocks'])
    expect(client.say({ type: 'subscribe', channel: 'blocks', since: 3101 })[1]).toEqual(resync)
    expect(client.say({ type: 'subscribe', channel: 'blocks', since: 1100 })).toHaveLength(1001)
  })

  it('waits for events that it has from another process, and receives none of them', async () => {
    feed.begin('blocks', 100)
    publish(2)
    const replies = client.say({ type: 'subscribe', channel: 'blocks', since: 104 })
    expect(replies).toEqual([{ type: 'subscribed', channel: 'blocks' }])
    publish(1)
    await new Promise(setImmediate)
    expect(client.subscribed.size).toBe(0)
    publish(2)
    await until('it is subscribed', () => client.subscribed.has('blocks'))
    expect(client.replies()).toMatchObject([{ seq: 105 }])
  })

  it('receives resync if the events that it claims to have do not come', async () => {
    publish(1)
    client.say({ type: 'subscribe', channel: 'blocks', since: 3 })
    await until('it is subscribed', () => client.subscribed.has('blocks'))
    expect(client.replies()).toEqual([{ type: 'resync', channel: 'blocks' }])
    expect(feed.waiting).toBe(0)
  })

  it('that has left waits for nothing', async () => {
    client.say({ type: 'subscribe', channel: 'blocks', since: 3 })
    expect(feed.waiting).toBe(1)
    client.close()
    expect(feed.waiting).toBe(0)
    await new Promise(setImmediate)
    expect(client.subscribed.size).toBe(0)
  })
})
