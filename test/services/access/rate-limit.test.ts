import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { clientOf, type Origin } from '../../../services/access/client-address.js'
import { RateLimit } from '../../../services/access/rate-limit.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const PEER = Uint8Array.of(192, 0, 2, 1)
const from = (forwardedFor: string, peer: Uint8Array = PEER): Origin => ({ peer, forwardedFor })
const v6 = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex')

describe('the client of a request', () => {
  it('is the peer: its IPv4 address, or the /64 of its IPv6 address', () => {
    expect(clientOf(from(''), 0)).toBe('192.0.2.1')
    const one = v6('20010db8 00000001 00000000 00000001')
    const neighbour = v6('20010db8 00000001 ffffffff ffffffff')
    const other = v6('20010db8 00000002 00000000 00000001')
    expect(clientOf(from('', one), 0)).toBe(clientOf(from('', neighbour), 0))
    expect(clientOf(from('', one), 0)).not.toBe(clientOf(from('', other), 0))
    expect(clientOf(from('', v6('00000000 00000000 0000ffff c0000201')), 0)).toBe('192.0.2.1')
  })

  it('is not taken from X-Forwarded-For unless proxies are trusted', () => {
    expect(clientOf(from('198.51.100.7'), 0)).toBe('192.0.2.1')
  })

  it.each([
    ['198.51.100.7', 1, '198.51.100.7'],
    ['203.0.113.9, 198.51.100.7', 1, '198.51.100.7'],
    ['203.0.113.9, 198.51.100.7', 2, '203.0.113.9'],
    ['203.0.113.9,198.51.100.7', 5, '203.0.113.9'],
    ['::ffff:198.51.100.7', 1, '198.51.100.7'],
    ['2001:db8:0:1:ffff::9', 1, '20010db800000001'],
    ['', 1, '192.0.2.1'],
    ['unknown', 1, '192.0.2.1'],
    // Addresses that a client puts in front give it no second allowance.
    ['x, 198.51.100.7', 1, '198.51.100.7'],
    [', 198.51.100.7', 1, '198.51.100.7'],
    ['203.0.113.9, x, 198.51.100.7', 1, '198.51.100.7'],
    ['203.0.113.9, x, 198.51.100.7', 2, '192.0.2.1'],
    ['198.51.100.7,', 1, '192.0.2.1'],
    ['198.51.100.7:80', 1, '192.0.2.1'],
    ['0x7f.1', 1, '192.0.2.1'],
    ['127.1', 1, '192.0.2.1'],
    ['fe80::1%eth0', 1, '192.0.2.1'],
    ['[2001:db8::1]', 1, '192.0.2.1'],
  ])('of %j behind %i proxies is %s', (header, hops, client) => {
    expect(clientOf(from(header), hops)).toBe(client)
  })
})

describe('the rate limit', () => {
  it('allows a number of requests in the minute after the first one, and then returns the time to wait', () => {
    let now = 5
    const limit = new RateLimit({ most: 3, trustedHops: 0, now: () => now })
    const take = () => limit.take(from(''))
    expect([take(), take(), take()]).toEqual([undefined, undefined, undefined])
    expect(take()).toBe(60_000)
    now += 59_000.5
    expect(take()).toBe(1_000)
    now += 999
    expect(take()).toBe(1)
    now += 1
    expect([take(), take(), take()]).toEqual([undefined, undefined, undefined])
    expect(take()).toBe(60_000)
  })

  it('counts a costly request as several, and a refused one as none', () => {
    const limit = new RateLimit({ most: 10, trustedHops: 0, now: () => 1 })
    expect(limit.take(from(''), 7)).toBeUndefined()
    expect(limit.take(from(''), 4)).toBe(60_000)
    expect(limit.take(from(''), 3)).toBeUndefined()
    expect(limit.take(from(''))).toBe(60_000)
    const fresh = new RateLimit({ most: 10, trustedHops: 0, now: () => 1 })
    expect([fresh.take(from(''), 11), fresh.take(from(''))]).toEqual([undefined, 60_000])
  })

  it('counts each client separately', () => {
    const limit = new RateLimit({ most: 1, trustedHops: 1, now: () => 1 })
    for (const client of ['203.0.113.1', '203.0.113.2', '2001:db8::1', '2001:db8:0:1::1'])
      expect(limit.take(from(client)), client).toBeUndefined()
    for (const client of ['203.0.113.1', '2001:db8::2', '2001:db8:0:1::2'])
      expect(limit.take(from(client)), client).toBe(60_000)
  })

  it('limits its memory at a million clients, and keeps counting a client that sends requests all the time', () => {
    const limit = new RateLimit({ most: 100, trustedHops: 0 })
    collectGarbage()
    const before = process.memoryUsage()
    let refused = 0
    for (let index = 0; index < 1_000_000; index++) {
      const peer = Uint8Array.of(index >>> 24, index >>> 16, index >>> 8, index)
      if (limit.take(from('', peer)) !== undefined) throw new Error('a new client is refused')
      if (index % 1_000 === 0 && limit.take(from('')) !== undefined) refused++
    }
    // Garbage is no growth.
    collectGarbage()
    const after = process.memoryUsage()
    expect(refused).toBe(900)
    expect(after.heapUsed - before.heapUsed).toBeLessThan(100 * 2 ** 20)
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(100 * 2 ** 20)
    // Used here, so that it is not garbage itself.
    expect(limit.take(from(''))).toBeDefined()
  })
})
