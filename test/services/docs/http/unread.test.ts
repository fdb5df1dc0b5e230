import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DraftCache } from '../../../../pipelines/content/cache/draft-cache.js'
import { Parser } from '../../../../pipelines/content/cache/parser.js'
import { until } from '../../../harness/until.js'
import { type BareDocs, PAGES, startBareDocs } from '../bare-docs.js'
import { passage } from '../fake-worker.js'

const UNREAD = 'guide/start.md'
const ANYONE = [
  '/api/docs',
  '/llms.txt',
  '/llms-full.txt',
  '/sitemap.xml',
  '/api/search?query=x',
  '/api/search?query=',
  '/api/docs/guide/start',
  '/docs/guide/start.mdx',
  '/llms.mdx/guide/start',
  '/guide/start',
  '/api/docs/no/page',
  '/docs/no/page.mdx',
  '/llms.mdx/no/page',
  '/no/page',
]

/** The service while one page is not read: another process has claimed to parse it. */
let docs: BareDocs
let cacheFolder: string
let release: () => Promise<void>

beforeAll(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'headwater-drafts-'))
  const quiet = () => undefined
  const cache = new DraftCache(cacheFolder, { debug: quiet, info: quiet, warn: quiet, error: quiet })
  release = (await cache.claim(new Parser().key([PAGES[UNREAD]!, UNREAD, []])))!
  docs = await startBareDocs({ cacheFolder }, PAGES, false)
  docs.worker.passages = [passage()]
  // All of them: /guide is read, and may be published, before the page of /.
  await until('the other pages are published', async () => {
    const { pages } = (await (await docs.get('/health')).json()) as { pages: number }
    return pages === Object.keys(PAGES).length - 1
  })
})

afterAll(async () => {
  await docs.close()
  await rm(cacheFolder, { recursive: true, force: true })
})

const ask = () => docs.post('/api/ask', { question: 'How do I start?' })
const chat = () =>
  docs.post('/api/chat', { messages: [{ role: 'user', parts: [{ type: 'text', text: 'How do I start?' }] }] })

describe('until all pages are read', () => {
  it('pages that are read are served', async () => {
    for (const path of [
      '/',
      '/guide',
      '/api/docs/index',
      '/api/docs/guide',
      '/docs/guide.mdx',
      '/llms.mdx/guide',
    ])
      expect((await docs.get(path)).status, path).toBe(200)
    for (const path of ['/robots.txt', '/metrics', '/health'])
      expect((await docs.get(path)).status, path).toBe(200)
    expect(await (await docs.get('/health')).json()).toMatchObject({
      pages: 3,
      reading: { done: 3, total: 4, seconds_left: expect.toSatisfy((left) => left === null || left >= 0) },
    })
    expect(await (await docs.get('/metrics')).text()).toContain('headwater_docs_pages_to_read 1')
  })

  it.each(ANYONE)('%s is 503 with Retry-After', async (path) => {
    const answer = await docs.get(path, { accept: 'text/markdown' })
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    if (answer.headers.get('content-type')?.startsWith('application/json') === true)
      expect(await answer.json()).toEqual({
        error: 'Pages are being read',
        code: 'HW_NOT_READY',
        pages_read: 3,
        pages_total: 4,
      })
    else expect(await answer.text()).toContain('3 of 4')
  })

  it('questions, and requests with another method, are 503 with Retry-After', async () => {
    for (const answer of [await ask(), await chat(), await docs.post('/guide/start', {})]) {
      expect(answer.status).toBe(503)
      expect(answer.headers.has('retry-after')).toBe(true)
    }
    expect((await docs.get('/api/nothing')).status).toBe(404)
  })

  it('an agent is asked to try again', async () => {
    const call = { name: 'read_page', arguments: { url: '/guide/start' } }
    const answer = await docs.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
      { accept: 'application/json, text/event-stream' },
    )
    expect(await answer.text()).toContain('Pages are being read')
  })
})

describe('when all pages are read', () => {
  it('everything is served, and what does not exist is 404', async () => {
    await release()
    await until('all pages are read', async () => (await docs.get('/api/docs')).ok)
    for (const path of ANYONE)
      expect((await docs.get(path)).status, path).toBe(path.includes('/no/page') ? 404 : 200)
    expect((await ask()).status).toBe(200)
    expect((await chat()).status).toBe(200)
    expect(await (await docs.get('/health')).json()).not.toHaveProperty('reading')
    expect(await (await docs.get('/metrics')).text()).toContain('headwater_docs_pages_to_read 0')
  })
})
