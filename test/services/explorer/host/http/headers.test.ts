import { Type } from '@sinclair/typebox'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { RateLimit } from '../../../../../services/access/rate-limit.js'
import { declareRead, NEVER, NotFound } from '../../../../../services/explorer/core/reads/read.js'
import { type BareServer, sendRaw, startBare } from '../../bare-server.js'

const reads = [
  declareRead({
    name: 'transaction',
    path: '/tx/:txid',
    fresh: 'live',
    args: { txid: Type.String({ minLength: 1, maxLength: 64 }) },
    answer: Type.Object({}),
    resolve: () => ({}),
  }),
  declareRead({
    name: 'echo',
    path: '/echo/:word',
    fresh: 'live',
    args: { word: Type.String({ minLength: 1, maxLength: 100_000 }) },
    answer: Type.Object({ word: Type.String() }),
    resolve: async (_, { word }) => {
      await Promise.resolve()
      if (word === 'none') throw new NotFound('Word not found', NEVER)
      if (word === 'broken') throw new Error('SELECT a secret')
      return { word }
    },
  }),
]

let bare: BareServer
const fetchPath = (path: string, options: RequestInit = {}): Promise<Response> =>
  fetch(`${bare.url}${path}`, options)

describe('the headers of an answer', () => {
  beforeEach(async () => {
    bare = await startBare({ reads })
  })
  afterEach(() => {
    bare.close()
  })

  it.each([
    ['/api/v1/echo/a', 200],
    ['/api/v1/echo/none', 404],
    ['/api/v1/echo/broken', 500],
    ['/api/v1/nothing', 404],
    ['/health', 200],
    ['/metrics', 200],
    ['/ws', 426],
    [`/api/v1/echo/${'x'.repeat(9_000)}`, 414],
  ])('allow pages of any origin to read it, and prevent its use as a page: %s', async (path, status) => {
    const answer = await fetchPath(path)
    expect(answer.status).toBe(status)
    const said = Object.fromEntries(answer.headers)
    expect(said).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'x-chain-height, x-chain-tip, etag, retry-after, ratelimit, ratelimit-policy',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'cross-origin',
    })
    const text = await answer.text()
    if (status >= 400) {
      expect(JSON.parse(text)).toHaveProperty('error')
      expect(said['cache-control']).toBe('no-store')
    }
    expect(text).not.toContain('SELECT')
    const head = await fetchPath(path, { method: 'HEAD' })
    expect(head.status).toBe(status)
    expect(await head.text()).toBe('')
    const vary = new Set(['date', ...(path === '/metrics' ? ['content-length'] : [])])
    const reported = (headers: Headers) => [...headers].filter(([name]) => !vary.has(name))
    // The answer contains the path of an unknown route, and the method.
    if (path !== '/api/v1/nothing') expect(reported(head.headers)).toEqual(reported(answer.headers))
  })

  it.each(['/openapi.json', '/asyncapi.json', '/metrics', '/graphql/assets/graphiql.js'])(
    'have a coding, and an ETag of each coding, if the body is a long text: %s',
    async (path) => {
      const tags = new Set<string | null>()
      const lengths: number[] = []
      for (const coding of ['identity', 'gzip', 'br']) {
        const read = (more: Record<string, string> = {}, method = 'GET') =>
          fetchPath(path, { method, headers: { 'accept-encoding': coding, ...more } })
        const answer = await read()
        expect(answer.headers.get('content-encoding') ?? 'identity').toBe(coding)
        expect(answer.headers.get('vary')).toBe('accept-encoding')
        const etag = answer.headers.get('etag')
        tags.add(etag)
        await answer.text()
        lengths.push(Number(answer.headers.get('content-length')))
        if (path === '/metrics') continue
        const known = await read({ 'if-none-match': etag ?? '' })
        expect(known.status).toBe(304)
        expect(known.headers.get('vary')).toBe('accept-encoding')
        expect((await read({}, 'HEAD')).headers.get('etag')).toBe(etag)
      }
      expect(tags.size).toBe(path === '/metrics' ? 1 : 3)
      expect(Math.max(...lengths.slice(1))).toBeLessThan(lengths[0]! / 2)
    },
  )

  it('answer the same with a slash at the end of the path', async () => {
    for (const path of ['/api/v1/echo/a', '/api/v1/echo/none', '/health', '/openapi.json', '/api/v1/ws']) {
      const [without, withSlash] = await Promise.all([fetchPath(path), fetchPath(`${path}/`)])
      expect(withSlash.status, path).toBe(without.status)
      expect(await withSlash.text()).toBe(await without.text())
    }
    const queried = await fetchPath('/api/v1/tx/00/?x=1', { redirect: 'error' })
    expect(queried.status).toBe(200)
    expect((await fetchPath('/api/v1/echo/a//')).status).toBe(404)
    const socket = new WebSocket(`${bare.url.replace('http', 'ws')}/api/v1/ws/`)
    await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
    socket.close()
  })

  it('answer a preflight on every known route, and on no other', async () => {
    for (const path of ['/api/v1/echo/a', '/health', '/metrics', '/ws']) {
      const answer = await fetchPath(path, { method: 'OPTIONS' })
      expect(answer.status, path).toBe(204)
      expect(Object.fromEntries(answer.headers), path).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-allow-headers': 'authorization, content-type, if-none-match, x-min-chain-height',
        'access-control-max-age': '86400',
      })
      expect(answer.headers.has('content-length')).toBe(false)
    }
    expect((await fetchPath('/api/v1/nothing', { method: 'OPTIONS' })).status).toBe(404)
    const raw = await sendRaw(
      bare.port,
      'OPTIONS /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n',
      { answers: 2 },
    )
    expect(raw.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 204', 'HTTP/1.1 200'])
  })

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'BREW'])('list the methods of %s', async (method) => {
    const answer = await fetchPath('/api/v1/echo/a', {
      method,
      ...(method === 'POST' ? { body: 'x' } : {}),
    })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect(await answer.json()).toEqual({
      error: 'Method Not Allowed',
      code: 'HW_METHOD_NOT_ALLOWED',
      message: `Method ${method} is not allowed for /api/v1/echo/a`,
      statusCode: 405,
    })
  })

  it('say to a client that broadcasts a transaction, as the live service does, that there is no such route', async () => {
    const body = JSON.stringify({ hex: '00' })
    const answer = await fetchPath('/api/v1/tx/send', { method: 'POST', body })
    expect(answer.status).toBe(404)
    expect(await answer.json()).toEqual({
      error: 'Not Found',
      message: 'Route POST:/api/v1/tx/send not found',
      statusCode: 404,
    })
    expect((await fetchPath('/api/v1/tx/send', { method: 'PUT' })).status).toBe(405)
    expect((await fetchPath('/api/v1/tx/other', { method: 'POST', body })).status).toBe(405)
  })

  it('are sent for a request whose long head arrives in parts', async () => {
    const head = `GET /api/v1/echo/a HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(12_000)}`
    const { text } = await sendRaw(bare.port, head, { drip: '\r\n\r\n', everyMs: 200, answers: 1 })
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a limited server', () => {
  beforeEach(async () => {
    bare = await startBare({ reads, limit: new RateLimit({ most: 3, trustedHops: 1 }) })
  })
  afterEach(() => {
    bare.close()
  })

  const as = (client: string): RequestInit => ({ headers: { 'x-forwarded-for': client } })
  const upgrade = (path: string, client: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${String(bare.port)}${path}`, {
        headers: { 'x-forwarded-for': client },
      })
      socket.on('open', () => {
        socket.terminate()
        resolve(101)
      })
      socket.on('unexpected-response', (_, response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      socket.on('error', reject)
    })

  it('counts every request under /api/v1, whatever the answer, and sends Retry-After', async () => {
    const client = as('203.0.113.1')
    expect((await fetchPath('/api/v1/echo/a', client)).status).toBe(200)
    expect((await fetchPath('/api/v1/nothing', client)).status).toBe(404)
    expect((await fetchPath('/api/v1', client)).status).toBe(404)
    for (const path of ['/api/v1/echo/a', '/api/v1/nothing', '/api/v1/']) {
      const answer = await fetchPath(path, client)
      expect(answer.status, path).toBe(429)
      const body = (await answer.json()) as { retry_after_ms: number }
      expect(body).toEqual({ error: 'Rate limit exceeded', retry_after_ms: expect.any(Number) as number })
      expect(body.retry_after_ms).toBeGreaterThan(55_000)
      const seconds = answer.headers.get('retry-after') ?? ''
      expect(Number(seconds)).toBe(Math.ceil(body.retry_after_ms / 1000))
      expect(answer.headers.get('ratelimit')).toBe(`"requests";r=0;t=${seconds}`)
      expect(answer.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=60')
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    }
    for (const path of ['/health', '/metrics', '/ws', '/api/v12'])
      expect((await fetchPath(path, client)).status, path).not.toBe(429)
    expect((await fetchPath('/api/v1/echo/a', { ...client, method: 'OPTIONS' })).status).toBe(204)
    expect((await fetchPath('/api/v1/echo/a', as('203.0.113.2'))).status).toBe(200)
  })

  it('counts the request for a socket under /api/v1, and not the one at the root', async () => {
    const client = '203.0.113.3'
    for (let count = 0; count < 3; count++) expect(await upgrade('/api/v1/ws', client)).toBe(101)
    expect(await upgrade('/api/v1/ws', client)).toBe(429)
    expect(await upgrade('/ws', client)).toBe(101)
  })

  it('uses the last of several X-Forwarded-For headers, which the proxy added', async () => {
    const request = (own: string) =>
      `GET /api/v1/echo/a HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${own}\r\nX-Forwarded-For: 203.0.113.4\r\n\r\n`
    const many = ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'].map(request).join('')
    const { text } = await sendRaw(bare.port, many, { answers: 4 })
    expect(text.match(/HTTP\/1\.1 \d+/g)?.sort()).toEqual(
      [200, 200, 200, 429].map((status) => `HTTP/1.1 ${String(status)}`),
    )
  })
})
