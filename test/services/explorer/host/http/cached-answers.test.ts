import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { Type } from '@sinclair/typebox'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ChainView } from '../../../../../pipelines/tables/chain-view.js'
import { RateLimit } from '../../../../../services/access/rate-limit.js'
import { declareRead } from '../../../../../services/explorer/core/reads/read.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { until } from '../../../../harness/until.js'
import { type BareServer, startBare } from '../../bare-server.js'
import { headWith } from '../../../../harness/heads.js'

const HEAD = headWith({
  position: 1,
  previous: 0,
  tipHeight: 9,
  tipHash: 'aa',
  sequence: 1n,
  writer: 1n,
  finalHeight: 5,
  reached: true,
})

/** The state of a chain with this tip. Blocks up to height 5 are final. */
const chainAt = (height: number, tipHash: string) => ({
  ...NO_CHAIN,
  position: height,
  height,
  tipHash,
  view: new ChainView(HEAD, new Map(), new Map()),
})

interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

describe('answers from memory', () => {
  let state: State
  let bare: BareServer
  /** The words that the resolver was called for. */
  let resolved: string[]
  /** Waits in the resolver, if set. */
  let gate: Promise<void> | undefined

  /** The answer about a word depends on it; its height is its length, and long ones repeat it. */
  const words = declareRead({
    name: 'words',
    path: '/word/:word',
    fresh: 'objects',
    args: { word: Type.String({ minLength: 1, maxLength: 64 }) },
    answer: Type.Object({ text: Type.String() }),
    async resolve({ validity }, { word }) {
      resolved.push(word)
      validity.dependsOn(word)
      validity.finalFrom(word.length)
      await gate
      return { text: word.repeat(word.startsWith('long') ? 500 : 1) }
    },
  })

  async function start(limit?: RateLimit): Promise<void> {
    state = new State()
    state.adopt(chainAt(9, 'aa'))
    state.mempoolLoaded()
    resolved = []
    gate = undefined
    bare = await startBare({ reads: [words], state, limit })
  }

  beforeEach(() => start())
  afterEach(() => {
    bare.close()
  })

  /** Sends a request and does not decompress the answer, as fetch would. */
  function send(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
    return new Promise((resolve, reject) => {
      const sent = request(`${bare.url}/api/v1${path}`, { method, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const { statusCode: status = 0, headers: received } = response
          resolve({ status, headers: received, body: Buffer.concat(chunks) })
        })
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  it('are kept while heads and mempool change something else, and describe the newest state', async () => {
    expect((await send('/word/tx')).headers).toMatchObject({ 'x-chain-height': '9', 'x-chain-tip': 'aa' })
    state.adopt(chainAt(10, 'bb'), [], new Set(['other']))
    state.mempool.change([], [], 1)
    const kept = await send('/word/tx')
    expect(kept.headers).toMatchObject({ 'x-chain-height': '10', 'x-chain-tip': 'bb' })
    expect([kept.body.toString(), resolved]).toEqual(['{"text":"tx"}', ['tx']])
    state.adopt(chainAt(11, 'cc'), [], new Set(['tx']))
    expect((await send('/word/tx')).headers['x-chain-tip']).toBe('cc')
    expect(resolved).toEqual(['tx', 'tx'])
    state.adopt(chainAt(11, 'dd'))
    await send('/word/tx')
    expect(resolved).toHaveLength(3)
  })

  it('are not kept if something that they depend on changed while they were made', async () => {
    let open = (): void => undefined
    gate = new Promise((resolve) => {
      open = resolve
    })
    const [tx, other] = [send('/word/tx'), send('/word/other')]
    await until('both are being made', () => resolved.length === 2)
    state.adopt(chainAt(10, 'bb'), [], new Set(['tx']))
    open()
    // Of the state in which they were begun.
    expect((await tx).headers['x-chain-tip']).toBe('aa')
    expect((await other).headers['x-chain-tip']).toBe('aa')
    expect((await send('/word/tx')).headers['x-chain-tip']).toBe('bb')
    expect((await send('/word/other')).headers['x-chain-tip']).toBe('bb')
    expect(resolved.toSorted()).toEqual(['other', 'tx', 'tx'])
  })

  it('are the same under every spelling of the request', async () => {
    for (const path of ['/word/tx', '/word/tx?x=1', '/word/%74x', '/word/tx?x=1', '/word/tx'])
      expect((await send(path)).body.toString()).toBe('{"text":"tx"}')
    expect(resolved).toEqual(['tx'])
    state.adopt(chainAt(10, 'bb'), [], new Set(['tx']))
    for (const path of ['/word/tx', '/word/tx?x=1', '/word/%74x'])
      expect((await send(path)).headers['x-chain-tip']).toBe('bb')
    expect(resolved).toEqual(['tx', 'tx'])
  })

  it('are compressed as the client prefers, once, if they are long', async () => {
    const plain = await send('/word/long')
    expect(plain.headers['content-encoding']).toBeUndefined()
    const decoders = { br: brotliDecompressSync, gzip: gunzipSync }
    for (const coding of ['br', 'gzip'] as const) {
      for (let each = 0; each < 3; each++) {
        const coded = await send('/word/long', { 'accept-encoding': coding })
        expect(coded.headers['content-encoding']).toBe(coding)
        expect(coded.headers['vary']).toBe('accept-encoding, x-min-chain-height')
        expect(decoders[coding](coded.body)).toEqual(plain.body)
        expect(coded.headers['etag']).toBe(`${String(plain.headers['etag']).slice(0, -1)}-${coding}"`)
      }
    }
    expect(plain.headers['vary']).toBe('accept-encoding, x-min-chain-height')
    const refused = await send('/word/long', { 'accept-encoding': 'br;q=0, gzip;q=0' })
    expect(refused.headers['content-encoding']).toBeUndefined()
    const short = await send('/word/tx', { 'accept-encoding': 'br' })
    expect(short.headers['content-encoding']).toBeUndefined()
    expect(resolved).toEqual(['long', 'tx'])
  })

  it('have the same headers for HEAD, made or from memory', async () => {
    for (const coding of ['identity', 'gzip', 'br']) {
      const accept = { 'accept-encoding': coding }
      const [head, get, again] = [
        await send('/word/long', accept, 'HEAD'),
        await send('/word/long', accept),
        await send('/word/long', accept, 'HEAD'),
      ]
      const { date: _, ...headers } = get.headers
      expect(head).toMatchObject({ status: 200, headers })
      expect(again).toMatchObject({ status: 200, headers })
      expect([head.body.length, again.body.length]).toEqual([0, 0])
      expect(Number(headers['content-length'])).toBe(get.body.length)
    }
  })

  it('are 304 to a client that has the same bytes, in the same coding', async () => {
    const accept = { 'accept-encoding': 'gzip' }
    const etag = String((await send('/word/long', accept)).headers['etag'])
    state.adopt(chainAt(10, 'bb'), [], new Set())
    const same = await send('/word/long', { ...accept, 'if-none-match': etag })
    expect(same).toMatchObject({ status: 304, headers: { etag, 'x-chain-tip': 'bb' } })
    expect(same.headers).toMatchObject({ vary: 'accept-encoding, x-min-chain-height' })
    expect(same.headers['cache-control']).toBe('public, max-age=86400')
    expect(same.body).toHaveLength(0)
    expect((await send('/word/long', { 'if-none-match': etag })).status).toBe(200)
  })

  it('may be kept by others once all that they depend on is final, and must be revalidated before', async () => {
    const policy = async (word: string): Promise<unknown> => {
      const answers = [await send(`/word/${word}`), await send(`/word/${word}`)]
      const [first, second] = answers.map(({ headers }) => headers['cache-control'])
      expect(first).toBe(second)
      return first
    }
    expect(await policy('five5')).toBe('public, max-age=86400')
    expect(await policy('sixsix')).toBe('no-cache')
    const view = new ChainView({ ...HEAD, finalHeight: 6 }, new Map(), new Map())
    state.adopt({ ...chainAt(10, 'bb'), view }, [], new Set())
    expect(await policy('sixsix')).toBe('public, max-age=86400')
    expect(resolved).toEqual(['five5', 'sixsix'])
  })

  it('count against the rate limit like any other', async () => {
    bare.close()
    await start(new RateLimit({ most: 3, trustedHops: 0 }))
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) statuses.push((await send('/word/tx')).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    expect(resolved).toEqual(['tx'])
  })

  it('are counted by result, and in the durations of their route', async () => {
    for (let count = 0; count < 3; count++) await send('/word/tx')
    const text = await (await fetch(`${bare.url}/metrics`)).text()
    for (const line of [
      'headwater_api_cache_requests_total{result="hit"} 2',
      'headwater_api_cache_requests_total{result="miss"} 1',
      'headwater_api_cache_answers 1',
      'headwater_api_request_duration_seconds_count{route="/api/v1/word/:word",status="200"} 3',
      'headwater_api_request_duration_seconds_bucket{le="+Inf",route="/api/v1/word/:word",status="200"} 3',
    ])
      expect(text).toContain(line)
  })

  it('are made again as soon as they change, if they are requested often', async () => {
    for (let count = 0; count < 20; count++) await send('/word/tx')
    state.adopt(chainAt(10, 'bb'), [], new Set(['tx']))
    await until('it is made', () => resolved.length === 2)
    expect((await send('/word/tx')).headers['x-chain-tip']).toBe('bb')
    expect(resolved).toEqual(['tx', 'tx'])
  })
})
