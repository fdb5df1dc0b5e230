import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SERVED_PATHS } from '../../../pipelines/content/links.js'
import { until } from '../../harness/until.js'
import { startBareDocs, type BareDocs } from './bare-docs.js'

const FILES: Readonly<Record<string, string>> = {
  'index.md': '# Home\n\nSee the [secret](./secret.md).',
  'secret.md': '---\ntitle: Secret page\nunlisted: true\n---\n\nHidden words.',
  'draft.md': '---\ndraft: true\n---\n\nDraft words.',
  '404.md': '# Lost',
  'guide/a.md': '---\ntitle: A long title\nsidebar_label: Short\nslug: /moved\n---\n\ntext',
  'guide/b.md': '---\nsidebar:\n  hidden: true\n---\n\ntext',
  'guide/_category_.json': '{"label": "The guide"}',
  'de/index.md': '# Startseite',
  'de/guide/a.md': '# Ein Titel',
  'ar/guide/a.md': '# عنوان',
}

let docs: BareDocs

beforeAll(async () => {
  docs = await startBareDocs({}, FILES)
})

afterAll(async () => {
  await docs.close()
})

const body = async (path: string) => (await docs.get(path)).text()

describe('an unlisted page', () => {
  it('can be read, but crawlers must not index it', async () => {
    const page = await docs.get('/secret')
    expect([page.status, page.headers.get('x-robots-tag')]).toEqual([200, 'noindex'])
    const html = await page.text()
    expect(html).toContain('Hidden words.')
    expect(html).toContain('<meta name="robots" content="noindex" />')
    expect(html).not.toContain('rel="canonical"')
    for (const path of ['/docs/secret.mdx', '/llms.mdx/secret']) {
      const markdown = await docs.get(path)
      expect([markdown.status, markdown.headers.get('x-robots-tag')]).toEqual([200, 'noindex'])
    }
    expect((await docs.get('/api/docs/secret')).status).toBe(200)
    expect((await docs.get('/guide/b')).headers.get('x-robots-tag')).toBeNull()
  })

  it.each(['/api/docs', '/llms.txt', '/llms-full.txt', '/sitemap.xml', '/'])('is not in %s', async (path) => {
    const text = (await body(path))
      .replace(/<div class="prose">[\s\S]*?<\/article>/, '')
      .replace('[secret](/secret)', '')
    expect(text).not.toMatch(/secret|lost|draft/i)
  })

  it('that is a draft has no address', async () => {
    for (const path of ['/draft', '/docs/draft.mdx', '/api/docs/draft'])
      expect((await docs.get(path)).status).toBe(404)
  })
})

describe('the list of pages', () => {
  const list = async (path: string) =>
    /<nav class="pages"[\s\S]*?<\/nav>/
      .exec(await body(path))?.[0]
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()

  it('has the names of the source, in the language of the page', async () => {
    expect(await list('/')).toBe('Home The guide Short')
    expect(await list('/guide/b')).toBe('Home The guide Short')
    expect(await list('/de')).toBe('Startseite Guide Ein Titel')
    expect(await list('/nowhere')).toBe('Home The guide Short')
  })

  it('follows the files that order pages', async () => {
    await docs.write('guide/_category_.json', '{"label": "Renamed"}')
    await until('the folder has its new name', async () => (await list('/'))?.includes('Renamed'))
    await docs.write('guide/_category_.json', '{')
    await until('the error is reported', async () => {
      const { faults } = (await (await docs.get('/health')).json()) as { faults: { file: string }[] }
      return faults.some(({ file }) => file === 'guide/_category_.json')
    })
    expect(await list('/')).toBe('Home Guide Short')
    await docs.write('guide/_category_.json', '{"label": "The guide"}')
    await until('the folder has its name again', async () => (await list('/'))?.includes('The guide'))
  })
})

describe('the path of the file of a page with another address', () => {
  it.each(['/guide/a', '/docs/guide/a', '/guide/a/'])('redirects: %s', async (path) => {
    const response = await docs.get(path)
    expect([response.status, response.headers.get('location')]).toEqual([308, '/moved'])
  })
})

describe('a page in one of several languages', () => {
  it('says its language and direction, and leads to the others', async () => {
    expect(await body('/moved')).toMatch(/<html\s+lang="en"\s+data-lang="en"\s*>/)
    expect(await body('/de/guide/a')).toMatch(/<html\s+lang="de"\s+data-lang="de"\s*>/)
    const arabic = await body('/ar/guide/a')
    expect(arabic).toMatch(/<html\s+lang="ar"\s+dir="rtl"\s+data-lang="ar"\s*>/)
    expect(arabic.replace(/\s+/g, ' ')).toContain(
      '<a href="/de/guide/a" hreflang="de" lang="de" rel="alternate" >Deutsch</a >',
    )
    expect(arabic).toContain('href="/moved" hreflang="en"')
    expect(await body('/guide/b')).not.toContain('hreflang')
  })

  it('has search and answers in its language', async () => {
    expect(await body('/de')).toContain('data-endpoint="/api/search?limit=30&amp;lang=de&amp;query="')
    await docs.get('/api/search?query=x&lang=de')
    expect(docs.worker.searches.at(-1)).toMatchObject({ query: 'x', lang: 'de' })
    await docs.post('/api/ask', { question: 'What?', lang: 'ar' })
    expect(docs.worker.requested.at(-1)).toMatchObject({ query: 'What?', lang: 'ar' })
    await docs.post('/api/ask', { question: 'What?' })
    expect(docs.worker.requested.at(-1)).toMatchObject({ lang: '' })
    const refused = await docs.post('/api/ask', { question: 'What?', lang: 7 })
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
      400,
      'HW_INVALID_ARGUMENT',
    ])
  })
})

describe('the paths that links may have without leading to a page', () => {
  it.each(SERVED_PATHS)('%s is served', async (path) => {
    // Those that only accept other methods answer 405.
    expect([200, 405]).toContain((await docs.get(path)).status)
  })
})

describe('GET /api/chat/<id>/stream', () => {
  it('has no stream to resume, as the AI SDK expects', async () => {
    const response = await docs.get('/api/chat/abc/stream')
    expect([response.status, await response.text()]).toEqual([204, ''])
    for (const path of ['/api/chat/abc', '/api/chat//stream', '/api/chat/a/b/stream']) {
      const missing = await docs.get(path)
      expect([missing.status, await missing.json()]).toEqual([
        404,
        { error: 'Not Found', code: 'HW_NOT_FOUND' },
      ])
    }
  })
})

describe('an error', () => {
  it.each([
    ['GET', '/api/docs/none', 404],
    ['GET', '/api/none', 404],
    ['GET', '/docs/none.mdx', 404],
    ['GET', '/_docs/none.js', 404],
    ['GET', '/api/search?query=x&limit=no', 400],
    ['GET', '/%ff', 400],
    ['DELETE', '/api/ask', 405],
    ['POST', '/api/ask', 400],
    ['POST', '/api/chat', 400],
    ['POST', '/mcp', 400],
  ])('of %s %s has a code', async (method, path, status) => {
    const response = await fetch(docs.url + path, { method, ...(method === 'POST' && { body: '{' }) })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({
      error: expect.any(String),
      code: expect.stringMatching(/^HW_/),
    })
  })

  it.each([
    ['GET / HTTP/9.9\r\n\r\n', 400],
    ['nonsense\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`, 431],
  ])('of what is no request of HTTP has a code: %.20j', async (bytes, status) => {
    const { hostname, port } = new URL(docs.url)
    const socket = connect(Number(port), hostname)
    socket.write(bytes)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `))
    expect(JSON.parse(body)).toMatchObject({ error: expect.any(String), code: 'HW_INVALID_ARGUMENT' })
  })
})
