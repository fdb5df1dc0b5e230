import { auditServer } from 'graphql-http'
import { getIntrospectionQuery, type IntrospectionQuery } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RateLimit } from '../../../../../services/access/rate-limit.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import { type BareServer, startBare } from '../../bare-server.js'
import { RESPONSE_TYPE, send } from './client.js'

const CHAIN = '{ chain { height tip } }'

describe('GraphQL over HTTP', () => {
  let bare: BareServer

  beforeAll(async () => {
    bare = await startBare({ reads: READS })
  })
  afterAll(() => {
    bare.close()
  })

  it('passes the audit of graphql-http', async () => {
    const results = await auditServer({ url: `${bare.url}/graphql` })
    expect(results.length).toBeGreaterThan(50)
    expect(results.filter(({ status }) => status !== 'ok')).toEqual([])
  })

  it('answers by POST and GET, with the state and an ETag, and 304 to a GET that has it', async () => {
    const posted = await send(bare.url, { query: CHAIN })
    expect(posted).toMatchObject({ status: 200, body: { data: { chain: { height: -1, tip: '' } } } })
    expect(posted.headers.get('x-chain-height')).toBe('-1')
    const url = `${bare.url}/graphql?query=${encodeURIComponent(CHAIN)}`
    const got = await fetch(url)
    const etag = got.headers.get('etag') ?? ''
    expect(etag).toBe(posted.headers.get('etag'))
    expect(await got.json()).toEqual(posted.body)
    expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await fetch(url, { method: 'HEAD' })).headers.get('etag')).toBe(etag)
  })

  it('compresses long answers', async () => {
    const answer = await send(bare.url, { query: getIntrospectionQuery() })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    const { __schema: schema } = (answer.body as { data: IntrospectionQuery }).data
    expect(schema.types.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['Block', 'AddressSummary', 'BigInt']),
    )
  })

  it.each([
    ['{', 'HW_INVALID_ARGUMENT', 'Syntax Error'],
    ['{ nothing }', 'HW_INVALID_ARGUMENT', 'Cannot query field'],
    ['{ blocks(limit: 101) { total } }', 'HW_INVALID_ARGUMENT', 'limit must be an integer from 1 to 100'],
    ['{ blocks(first: 0) { total } }', 'HW_INVALID_ARGUMENT', 'limit must be an integer from 1 to 100'],
    ['{ blocks(limit: null) { total } }', 'HW_INVALID_ARGUMENT', 'found null'],
    [
      '{ a: blocks(limit: -9000) { total } blocks(limit: 60) { items { transactions(limit: 100) { items { txid } } } } }',
      'HW_OPERATION_TOO_COSTLY',
      'a cost of 6060 rows',
    ],
    ['{ address(address: "x") { balance } }', 'HW_INVALID_ARGUMENT', 'address must be a well-formed address'],
    ['{ blocks(page: 99999999999) { total } }', 'HW_INVALID_ARGUMENT', '32-bit'],
    ['{ blocks { items { transactions(limit: 100) { items { txid } } } } }', '', ''],
    [
      '{ blocks(limit: 60) { items { transactions(limit: 100) { items { txid } } } } }',
      'HW_OPERATION_TOO_COSTLY',
      'a cost of 6060 rows, the maximum is 5000: lower limit',
    ],
    [
      `{ blocks { items ${'{ previous '.repeat(20)}{ hash }${' }'.repeat(21)} }`,
      'HW_OPERATION_TOO_COSTLY',
      'depth',
    ],
    [
      `{ ${Array.from({ length: 31 }, (_, index) => `a${String(index)}: chain { height }`).join(' ')} }`,
      'HW_OPERATION_TOO_COSTLY',
      'a cost of 31 aliases',
    ],
    [`{ chain { ${'height '.repeat(501)} } }`, 'HW_OPERATION_TOO_COSTLY', 'at most 500 fields'],
    [
      `{ chain(a: "${'1 '.repeat(10)}", ${'b: 1 '.repeat(900)}) { height } }`,
      'HW_OPERATION_TOO_COSTLY',
      'at most 2000 tokens',
    ],
    ['subscription { blocks { seq } }', 'HW_INVALID_ARGUMENT', 'graphql-transport-ws'],
  ])('refuses %s with the code %s', async (query, code, message) => {
    const modern = await send(bare.url, { query }, { accept: RESPONSE_TYPE })
    const legacy = await send(bare.url, { query })
    if (code === '') {
      // The index is empty: a failure of the whole operation, after the checks.
      expect(modern.errors[0]).toMatchObject({ extensions: { code: 'HW_SYNCING' } })
      return
    }
    expect([modern.status, legacy.status]).toEqual([400, 200])
    for (const { errors } of [modern, legacy]) {
      expect(errors[0]?.message).toContain(message)
      expect(errors[0]?.extensions['code']).toBe(code)
    }
  })

  it('returns 503 with Retry-After while the index is empty, and while the node is unreachable', async () => {
    const syncing = await send(bare.url, { query: '{ block(heightOrHash: "1") { hash } }' })
    expect(syncing).toMatchObject({
      status: 503,
      errors: [{ extensions: { code: 'HW_SYNCING', indexedHeight: -1 } }],
    })
    expect(syncing.headers.get('retry-after')).toBe('5')
    const node = await send(bare.url, { query: '{ nodeHealth { uptime } }' })
    expect(node).toMatchObject({ status: 503, errors: [{ extensions: { code: 'HW_NODE_UNAVAILABLE' } }] })
    expect(node.headers.get('retry-after')).toBe('1')
  })

  it('refuses batches, long bodies and other methods', async () => {
    const post = (body: string) =>
      fetch(`${bare.url}/graphql`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect((await post(JSON.stringify([{ query: CHAIN }]))).status).toBe(400)
    expect((await post(`{"query":"${' '.repeat(65_536)}"}`)).status).toBe(413)
    expect((await fetch(`${bare.url}/graphql`, { method: 'DELETE' })).status).toBe(405)
    expect(
      (await fetch(`${bare.url}/graphql?query=${encodeURIComponent('mutation { __typename }')}`)).status,
    ).toBe(405)
  })

  it('counts an operation as one request and one more for each 100 rows', async () => {
    const limited = await startBare({ reads: READS, limit: new RateLimit({ most: 10, trustedHops: 0 }) })
    try {
      const cheap = { query: CHAIN }
      expect((await send(limited.url, cheap)).status).toBe(200)
      // 20 + 20 * 29 rows: 1 + 6 requests.
      const query = '{ blocks(limit: 20) { items { transactions(limit: 29) { items { txid } } } } }'
      expect((await send(limited.url, { query })).status).toBe(503)
      for (let left = 2; left > 0; left--) expect((await send(limited.url, cheap)).status).toBe(200)
      const refused = await send(limited.url, cheap)
      expect(refused.status).toBe(429)
      const seconds = refused.headers.get('retry-after') ?? ''
      expect(Number(seconds)).toBeGreaterThan(0)
      expect(refused.headers.get('ratelimit')).toBe(`"requests";r=0;t=${seconds}`)
    } finally {
      limited.close()
    }
  })

  it('shows GraphiQL to browsers, which loads nothing from other hosts', async () => {
    const page = await fetch(`${bare.url}/graphql`, { headers: { accept: 'text/html,*/*' } })
    const html = await page.text()
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'/)
    const urls = [...html.matchAll(/(?:src|href)="([^"]+)"/g)]
      .map(([, url = '']) => url)
      .filter((url) => !url.startsWith('data:'))
    expect(urls.length).toBeGreaterThan(3)
    for (const url of urls) {
      expect(url).toMatch(/^\/graphql\/assets\//)
      const file = await fetch(bare.url + url)
      expect([url, file.status]).toEqual([url, 200])
      expect((await file.text()).length).toBeGreaterThan(100)
    }
  })
})
