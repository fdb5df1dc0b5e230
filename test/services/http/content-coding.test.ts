import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CachedAnswer } from '../../../services/explorer/core/answering/cached-answer.js'
import { compress } from '../../../services/compression.js'
import { preferredCoding } from '../../../services/http/content-coding.js'

describe('the content coding of an answer', () => {
  it.each([
    ['', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate', 'gzip'],
    ['deflate, zstd', undefined],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['identity;q=0.5, gzip', 'gzip'],
    ['gzip;q=0.5, identity', undefined],
    ['gzip; q=1.000', 'gzip'],
    ['gzip;q=2', undefined],
    ['gzip;q=x', undefined],
  ])('is the preferred one of Accept-Encoding: %s', (header, coding) => {
    expect(preferredCoding(header)).toBe(coding)
    // From memory.
    expect(preferredCoding(header)).toBe(coding)
  })

  it('is stable while clients send any number of different headers', () => {
    for (let count = 0; count < 1_000; count++)
      expect(preferredCoding(`gzip, x${String(count)};q=0.1`)).toBe('gzip')
  })

  it('restores the body', async () => {
    const body = Buffer.from('{"items":[]}'.repeat(500))
    const [br, gzip] = await Promise.all([compress(body, 'br'), compress(body, 'gzip')])
    expect(brotliDecompressSync(br)).toEqual(body)
    expect(gunzipSync(gzip)).toEqual(body)
    expect(Math.max(br.length, gzip.length)).toBeLessThan(body.length / 10)
  })

  it('is made once for all clients, and has an ETag of its own', async () => {
    const answer = new CachedAnswer(
      { body: Buffer.alloc(5_000), etag: '"tag"' },
      { path: '/x', finalFrom: 0 },
    )
    const added: number[] = []
    const add = (bytes: number): void => void added.push(bytes)
    expect(answer.inCoding('br')).toBeUndefined()
    const made = await Promise.all([answer.compressed('br', add), answer.compressed('br', add)])
    expect(made[0]).toBe(made[1])
    expect(answer.inCoding('br')).toBe(made[0])
    expect(added).toEqual([made[0].body.length])
    expect(made[0].etag).toBe('"tag-br"')
    expect(answer.inCoding(undefined)?.etag).toBe('"tag"')
    expect(answer.inCoding('gzip')).toBeUndefined()
  })
})
