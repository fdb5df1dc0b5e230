import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { until } from '../../harness/until.js'
import { startBareDocs, type BareDocs } from './bare-docs.js'

let docs: BareDocs

beforeAll(async () => {
  docs = await startBareDocs()
})

afterAll(async () => {
  await docs.close()
})

const body = async (path: string, headers?: Record<string, string>) => (await docs.get(path, headers)).text()
const data = async (path: string) => (await docs.get(path)).json()

describe('GET /api/docs', () => {
  it('lists all pages', async () => {
    const { pages } = await data('/api/docs')
    expect(pages).toEqual([
      {
        title: 'Headwater',
        description: 'A chain, readable.',
        url: '/',
        markdown_url: '/llms.mdx/index',
        toc: [{ title: 'What it is', url: '#what-it-is', depth: 2 }],
      },
      expect.objectContaining({
        title: 'Guide',
        description: null,
        url: '/guide',
        markdown_url: '/llms.mdx/guide',
      }),
      expect.objectContaining({ url: '/guide/blocks%20%26%20more', title: 'Blocks & "more"' }),
      expect.objectContaining({ url: '/guide/start', toc: [{ title: 'First', url: '#one', depth: 2 }] }),
    ])
  })
})

describe('a long answer', () => {
  it.each(['/', '/guide/start', '/metrics', '/_docs/docs.css', '/nowhere'])(
    'is compressed for clients that accept it: %s',
    async (path) => {
      const read = (coding: string, more: Record<string, string> = {}) =>
        docs.get(path, { 'accept-encoding': coding, ...more })
      const plain = await read('identity')
      expect(plain.headers.get('content-encoding')).toBeNull()
      expect(plain.headers.get('vary')).toMatch(/Accept-Encoding/i)
      const text = await plain.text()
      for (const coding of ['br', 'gzip']) {
        const answer = await read(coding)
        expect(answer.headers.get('content-encoding')).toBe(coding)
        expect(answer.headers.get('vary')).toBe(plain.headers.get('vary'))
        if (path !== '/metrics') expect(await answer.text()).toBe(text)
        const etag = answer.headers.get('etag')
        if (etag === null) expect(['/metrics', '/nowhere']).toContain(path)
        else {
          expect(etag).not.toBe(plain.headers.get('etag'))
          expect((await read(coding, { 'if-none-match': etag })).status).toBe(304)
          expect((await read('identity', { 'if-none-match': etag })).status).toBe(200)
        }
      }
    },
  )
})

describe('GET /api/docs/<slug>', () => {
  it('returns a whole page', async () => {
    expect(await data('/api/docs/guide/start')).toEqual({
      title: 'Getting started',
      description: null,
      url: '/guide/start',
      toc: [{ title: 'First', url: '#one', depth: 2 }],
      content: 'Before.\n\n## First [#one]\n\nRun `npm start`.\n\n```sh\nnpm start\n```',
      structuredData: {
        headings: [{ id: 'one', content: 'First' }],
        contents: [
          { heading: '', content: 'Before.' },
          { heading: 'one', content: 'Run `npm start`.' },
          { heading: 'one', content: '```sh\nnpm start\n```' },
        ],
      },
    })
  })

  it.each(['/api/docs/', '/api/docs/index'])('is the root page at %s', async (path) => {
    expect(await data(path)).toMatchObject({ url: '/', title: 'Headwater' })
  })

  it.each([
    ['/api/docs/guide', '/guide'],
    ['/api/docs/guide/', '/guide'],
    ['/api/docs/guide/index', '/guide'],
    ['/api/docs/guide/blocks%20&%20more', '/guide/blocks%20%26%20more'],
  ])('returns at %s the page %s', async (path, url) => {
    expect(await data(path)).toMatchObject({ url })
  })

  it.each([
    '/api/docs/nothing',
    '/api/docs/guide/start/more',
    '/api/docs/..%2findex',
    '/api/docs/guide%2fstart',
  ])('returns 404 at %s', async (path) => {
    const response = await docs.get(path)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Page not found', code: 'HW_NOT_FOUND' })
  })
})

describe('the files for crawlers and agents', () => {
  it('/llms.txt has a line for each page', async () => {
    const response = await docs.get('/llms.txt')
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await response.text()).toBe(
      [
        '# Documentation',
        '',
        '- [Headwater](/): A chain, readable.',
        '- [Guide](/guide)',
        '- [Blocks & "more"](/guide/blocks%20%26%20more): All of <them>',
        '- [Getting started](/guide/start)',
        '',
      ].join('\n'),
    )
  })

  it('/llms-full.txt has the whole text of all pages', async () => {
    const { pages } = await data('/api/docs')
    const details = await Promise.all(pages.map(({ url }: { url: string }) => data(`/api/docs${url}`)))
    expect(await body('/llms-full.txt')).toBe(
      details.map(({ title, content }) => `# ${title}\n\n${content}`).join('\n\n'),
    )
  })

  it('every markdown_url and every /docs/<path>.mdx is the processed Markdown', async () => {
    const { pages } = await data('/api/docs')
    for (const { url, markdown_url: markdownUrl } of pages) {
      const { content } = await data(`/api/docs${url}`)
      const paths = [markdownUrl, `/docs${url === '/' ? '/index' : url}.mdx`]
      for (const path of paths) {
        const response = await docs.get(path)
        expect(response.status, path).toBe(200)
        expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
        expect(await response.text()).toBe(content)
      }
    }
    for (const path of ['/docs/nothing.mdx', '/llms.mdx/nothing'])
      expect((await docs.get(path)).status).toBe(404)
  })

  it('/sitemap.xml and /robots.txt have the host of the request', async () => {
    const xml = await body('/sitemap.xml')
    expect(xml.match(/<loc>/g)).toHaveLength(4)
    expect(xml).toContain(`<loc>${docs.url}/guide/blocks%20%26%20more</loc>`)
    expect(await body('/robots.txt')).toBe(`User-agent: *\nAllow: /\n\nSitemap: ${docs.url}/sitemap.xml\n`)
  })
})

describe('an HTML page', () => {
  it('is at its URL', async () => {
    const response = await docs.get('/guide/start')
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding')
    const page = await response.text()
    expect(page).toContain('<h1>Getting started</h1>')
    expect(page).toContain('<h2 id="one">First<a')
    expect(page).toContain('aria-current="page"')
  })

  it('is returned as Markdown if the client accepts that', async () => {
    const accepts = ['text/markdown', 'text/markdown, text/html;q=0.9', 'text/markdown, */*;q=0.1']
    for (const accept of accepts) {
      const response = await docs.get('/guide/start', { accept })
      expect(response.headers.get('content-type'), accept).toBe('text/markdown; charset=utf-8')
      expect(response.headers.get('vary')).toBe('Accept')
      expect(await response.text()).toMatch(/^Before\./)
    }
    for (const accept of ['*/*', 'text/html', 'text/html, text/markdown;q=0.5', 'text/markdown;q=0, */*'])
      expect((await docs.get('/guide/start', { accept })).headers.get('content-type')).toMatch(/^text\/html/)
  })

  it.each([
    ['/guide/', '/guide'],
    ['/index', '/'],
    ['/guide/index', '/guide'],
    ['/docs/guide/start', '/guide/start'],
  ])('redirects from %s to %s', async (from, to) => {
    const response = await docs.get(from)
    expect(response.status).toBe(308)
    expect(response.headers.get('location')).toBe(to)
  })

  it('that does not exist is an HTML page with 404; under /api it is JSON', async () => {
    const page = await docs.get('/nothing')
    expect(page.status).toBe(404)
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    const api = await docs.get('/api/nothing')
    expect(api.status).toBe(404)
    expect(await api.json()).toEqual({ error: 'Not Found', code: 'HW_NOT_FOUND' })
  })
})

describe('a folder without a root page', () => {
  it('starts with the first page of its navigation until a root page exists', async () => {
    const own = await startBareDocs({}, { 'b.md': '# B', 'z.md': '---\norder: 1\n---\n# Z' })
    const response = await own.get('/')
    expect([response.status, response.headers.get('location')]).toEqual([307, '/z'])
    await own.write('index.md', '# Home')
    await until('the root page is there', async () => (await own.get('/')).status === 200)
    await own.close()
  })
})

describe('a page for a repository', () => {
  const head = '[![CI](https://x.example/b.svg)](https://x.example)\n\n'
  const source =
    '<picture><source srcset="https://evil.example/s.png"><img src="https://x.example/i.png" alt="Shot"></picture>'

  it('has its title once, no link within a link, and loads no image from elsewhere', async () => {
    const own = await startBareDocs(
      {},
      { 'readme.md': `${head}# My Project\n\n${source}\n\n## My Project\n` },
    )
    const shown = await (await own.get('/readme')).text()
    expect(shown.match(/<h1[^>]*>.*?<\/h1>/g)).toEqual(['<h1 id="my-project">My Project</h1>'])
    expect(shown).toContain('<h2 id="my-project-1">')
    expect(shown).toContain('<p><a href="https://x.example" rel="noopener noreferrer">CI</a></p>')
    expect(shown).toContain('<a href="https://x.example/i.png" rel="noopener noreferrer">Shot</a>')
    expect(shown).not.toMatch(/<picture|<source|evil\.example/)
    await own.close()
  })
})

describe('every answer', () => {
  it('is 304 for a client that has it', async () => {
    for (const path of [
      '/',
      '/api/docs',
      '/api/docs/guide',
      '/llms.txt',
      '/sitemap.xml',
      '/docs/guide.mdx',
    ]) {
      const first = await docs.get(path)
      const etag = first.headers.get('etag') ?? ''
      expect(etag, path).toMatch(/^"[\w-]{22}(-gzip)?"$/)
      const again = await docs.get(path, { 'if-none-match': `"other", W/${etag}` })
      expect(again.status, path).toBe(304)
      expect(await again.text()).toBe('')
    }
  })

  it('has the same length for HEAD, and no body', async () => {
    const [get, head] = [await docs.get('/llms.txt'), await fetch(`${docs.url}/llms.txt`, { method: 'HEAD' })]
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(String((await get.text()).length))
    expect(await head.text()).toBe('')
  })

  it('of a read may be read by pages of any origin, as the preflight says', async () => {
    const response = await docs.get('/api/docs')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const preflight = await fetch(`${docs.url}/api/search`, { method: 'OPTIONS' })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS')
    const ask = await fetch(`${docs.url}/api/ask`, { method: 'OPTIONS' })
    expect(ask.headers.get('allow')).toBe('POST, OPTIONS')
    expect(ask.headers.get('access-control-allow-origin')).toBeNull()
  })

  it.each([
    ['POST', '/api/docs', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/guide', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/ask', 'POST, OPTIONS'],
    ['HEAD', '/api/chat', 'POST, OPTIONS'],
    ['GET', '/mcp', 'POST, OPTIONS'],
  ])('to %s %s has the allowed methods', async (method, path, allow) => {
    const response = await fetch(docs.url + path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
  })

  it('to an unknown path is 404 with any method', async () => {
    for (const method of ['POST', 'DELETE', 'PUT'])
      expect((await fetch(`${docs.url}/nothing`, { method })).status, method).toBe(404)
  })

  it('has headers against type sniffing, and allows no script in it', async () => {
    const api = await docs.get('/api/docs')
    expect(api.headers.get('x-content-type-options')).toBe('nosniff')
    expect(api.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(api.headers.get('x-powered-by')).toBeNull()
    const page = await docs.get('/')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
    const html = await page.text()
    expect(html).not.toMatch(/<script(?![^>]* src="\/_docs\/)/)
    expect(html).not.toMatch(/<style|\sstyle=|\son[a-z]+=/)
  })
})

describe('during changes of pages', () => {
  it('all endpoints return the new page at once, and no client gets an error', async () => {
    let stop = false
    const failures: string[] = []
    const client = async () => {
      while (!stop)
        for (const path of ['/api/docs', '/llms-full.txt', '/', '/sitemap.xml', '/api/docs/guide/start']) {
          const response = await docs.get(path)
          const text = await response.text()
          if (response.status !== 200 || text === '') failures.push(`${path} ${response.status}`)
        }
    }
    const clients = [client(), client()]
    await docs.write('new/page.mdx', '---\ntitle: New\n---\n\nFirst words.\n')
    await until('it is listed', async () => (await body('/api/docs')).includes('"/new/page"'))
    for (const path of ['/llms.txt', '/llms-full.txt', '/sitemap.xml', '/new/page', '/docs/new/page.mdx'])
      expect(await body(path), path).toMatch(/New|First words|new\/page/)
    await docs.write('new/page.mdx', '---\ntitle: New\n---\n\nOther words.\n')
    await until('it is changed', async () => (await body('/new/page')).includes('Other words'))
    await rename(join(docs.folder, 'new/page.mdx'), join(docs.folder, 'new/name.mdx'))
    await until('it is renamed', async () => (await docs.get('/new/page')).status === 404)
    expect((await docs.get('/new/name')).status).toBe(200)
    await rm(join(docs.folder, 'new'), { recursive: true })
    await until('it no longer exists', async () => (await docs.get('/api/docs/new/name')).status === 404)
    stop = true
    await Promise.all(clients)
    expect(failures).toEqual([])
  })
})

describe('a page with the name of an endpoint', () => {
  it('in capitals is shown, because it is no endpoint', async () => {
    let said = ''
    const logger = pino({}, { write: (line: string) => void (said += line) })
    const own = await startBareDocs(
      { logger },
      { 'Health.md': '# H\n', 'LLMs.txt.md': '# L\n', 'API/Docs.md': '# D\n', 'llms-txt.md': '# T\n' },
    )
    for (const path of ['/Health', '/LLMs.txt', '/API/Docs', '/llms-txt'])
      expect((await own.get(path)).headers.get('content-type'), path).toBe('text/html; charset=utf-8')
    expect(said).not.toContain('is an endpoint')
    await own.close()
  })

  it('is logged, both at the start and if it is added later', async () => {
    let said = ''
    const logger = pino({}, { write: (line: string) => void (said += line) })
    const own = await startBareDocs({ logger }, { 'health.md': '# Health\n' })
    try {
      expect(said).toContain('"file":"health.md","msg":"/health is an endpoint')
      await own.write('api/search.md', '# Search\n')
      await until('it is warned of', () => said.includes('"file":"api/search.md","msg":"/api/search is'))
      expect(await (await own.get('/docs/health.mdx')).text()).toContain('# Health')
      await own.write('api/docs/deep.md', '# Deep\n')
      await until('it is warned of', () =>
        said.includes('"file":"api/docs/deep.md","msg":"/api/docs/deep is'),
      )
    } finally {
      await own.close()
    }
  })
})

describe("a title that contains a link's closing bracket", () => {
  it('is escaped in /llms.txt', async () => {
    const own = await startBareDocs({}, { 'a.md': '---\ntitle: "a ](http://b) [c"\n---\n' })
    try {
      expect(await (await own.get('/llms.txt')).text()).toContain('- [a \\](http://b) \\[c](/a)\n')
    } finally {
      await own.close()
    }
  })
})
