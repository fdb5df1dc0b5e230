import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { loadAssets } from '../../../../../services/explorer/faces/pages/assets.js'
import type { Health } from '../../../../../services/explorer/core/health/health.js'
import { Documents } from '../../../../../services/explorer/faces/rest/description/documents.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import type { OpenApi } from '../../../../../services/explorer/faces/pages/views/api.js'
import { Site } from '../../../../../services/explorer/faces/pages/site.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { RateLimit } from '../../../../../services/access/rate-limit.js'
import { type BareServer, CALM, sendRaw, startBare } from '../../bare-server.js'

const HEALTH = {
  status: 'ok',
  database: 'connected',
  wsClients: 0,
  indexerStatus: 'live',
  tipHeight: 7,
  nodeHeight: 7,
  tipMatch: true,
  lastReconciledAt: '',
  audit: { checkedAt: null, checks: 0, differences: 0 },
} as unknown as Health
/** The description of an API with all reads. */
const openApi = (): OpenApi =>
  JSON.parse(
    new Documents(READS, () => NO_CHAIN, { hasToken: false, hasBroadcast: true })
      .of('openapi')
      .body.toString(),
  ) as OpenApi
const HOSTILE = '"><script>hack()</script>'
const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }

/** Starts a server with pages, of an explorer that has no block yet unless the state says otherwise. */
async function startSite(parts: Parameters<typeof startBare>[0] = {}): Promise<BareServer> {
  return startBare({
    ...parts,
    pages: ({ reader }) =>
      new Site({
        assets: loadAssets(),
        condition: () => CALM,
        status: {
          health: () => HEALTH,
          condition: () => CALM,
          lags: () => Promise.resolve([{ topic: 'chain', consumer: HOSTILE, lag: 3 }]),
          nodeGaps: () => ['getblockchaininfo has no headers: the <progress> is that of its blocks'],
          ports: new Map([['Electrum', 50_001]]),
        },
        reader,
        openApi,
        docsPort: 8081,
      }),
  })
}

describe('the pages without a database', () => {
  let bare: BareServer
  const get = (path: string, headers: Record<string, string> = BROWSER): Promise<Response> =>
    fetch(bare.url + path, { headers, redirect: 'manual' })

  beforeAll(async () => {
    const state = new State()
    state.adopt({ ...NO_CHAIN, network: REGTEST })
    state.mempoolLoaded()
    bare = await startSite({ state })
  })
  afterAll(() => {
    bare.close()
  })

  it('allow only their own files, and no inline script or style', async () => {
    const response = await get('/api')
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
    const text = await response.text()
    expect(text).not.toMatch(/<script(?![^>]* src="\/_explorer\/)|<style|\sstyle="|\son[a-z]+="/)
    expect(response.headers.get('vary')).toContain('accept')
  })

  it.each(['/', '/api', '/de/status'])('are for all clients but those that prefer JSON: %s', async (path) => {
    const pages = ['*/*', '', 'image/avif,*/*;q=0.8', 'text/html;q=0.9,application/json;q=0.8', 'text/*']
    const others = ['application/json', 'application/json,*/*;q=0.5', 'text/html;q=0.1,application/*;q=0.2']
    // Twice, because the second answer may be from memory.
    for (const accept of [...pages, ...others, ...pages, ...others]) {
      const isPage = pages.includes(accept)
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(bare.url + path, { method, headers: { accept } })
        expect(response.headers.get('content-type'), accept).toMatch(isPage ? /^text\/html/ : /json/)
        expect(response.headers.get('vary')).toMatch(/\baccept\b(?!-)/)
        const text = await response.text()
        if (isPage) expect([200, 503]).toContain(response.status)
        else expect(response.status).toBe(404)
        if (!isPage && method === 'GET')
          expect(JSON.parse(text)).toMatchObject({ message: `Route GET:${path} not found` })
      }
    }
  })

  it('name no host in previews unless the public URL is known, whatever a request names', async () => {
    const request = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\n\r\n`
    // The second answer begins when all of the first one was sent.
    const { text } = await sendRaw(bare.port, request('/api') + request('/robots.txt'), { answers: 2 })
    expect(text).toContain('<meta property="og:title" content="')
    expect(text).toContain('<link rel="canonical" href="/api"')
    expect(text).not.toMatch(/og:url|og:image|evil/)
  })

  it('do not exist for methods that read nothing', async () => {
    const posted = await fetch(bare.url, { method: 'POST', headers: BROWSER })
    expect(posted.status).toBe(404)
    expect(await posted.json()).toMatchObject({ message: 'Route POST:/ not found' })
  })

  it('answer HEAD as GET if they do not exist', async () => {
    for (const [accept, type] of [
      ['text/html', 'text/html'],
      ['*/*', 'application/json'],
      ['application/json, text/html;q=0.5', 'application/json'],
    ] as const) {
      const headers = { accept }
      const [read, head] = await Promise.all(
        ['GET', 'HEAD'].map((method) => fetch(`${bare.url}/no/page`, { method, headers })),
      )
      const shown = (response: Response | undefined) =>
        [...(response?.headers ?? [])].filter(([name]) => !['date', 'content-length'].includes(name))
      expect(read?.status).toBe(404)
      expect(head?.status).toBe(404)
      expect(read?.headers.get('content-type')).toContain(type)
      expect(read?.headers.get('vary')).toContain('accept')
      expect(shown(head)).toEqual(shown(read))
    }
  })

  it('have one URL each, without a slash at its end', async () => {
    for (const [given, location] of [
      ['/blocks/', '/blocks'],
      ['/blocks/?page=2&limit=%20', '/blocks?page=2&limit=%20'],
      ['/de/', '/de'],
      ['/de/tx/00ff//', '/de/tx/00ff'],
      ['/charts/difficulty.csv/?range=day', '/charts/difficulty.csv?range=day'],
    ] as const)
      for (const method of ['GET', 'HEAD']) {
        const moved = await fetch(bare.url + given, { method, redirect: 'manual' })
        expect(moved.status, given).toBe(308)
        expect(moved.headers.get('location')).toBe(location)
      }
    // No path becomes the address of another host.
    const other = await fetch(`${bare.url}//example.org/`, { redirect: 'manual' })
    expect(other.status).toBe(404)
  })

  it('load files whose names change with their content, compressed', async () => {
    const text = await (await get('/api')).text()
    for (const link of ['/openapi.json', '/asyncapi.json', '/graphql']) {
      expect(text).toContain(`href="${link}"`)
      expect((await get(link)).status, link).toBe(200)
    }
    expect(text).toContain('Port 50001')
    const files = [...text.matchAll(/"(\/_explorer\/[\w-]+\.(?:css|js|svg))"/g)].map(([, path]) => path ?? '')
    expect(files).toHaveLength(4)
    for (const path of files) {
      const response = await get(path, { 'accept-encoding': 'br' })
      expect(response.status, path).toBe(200)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('content-encoding')).toBe('br')
      expect((await response.text()).length, path).toBeGreaterThan(20)
    }
    expect((await get('/_explorer/manifest.json')).status).toBe(404)
    expect((await get('/_explorer/../package.json')).status).toBe(404)
  })

  it('show the status of the explorer, and its words as text', async () => {
    const text = await (await get('/status')).text()
    expect(text).toContain('What this version of the node lacks')
    expect(text).toMatch(/<dt>Electrum<\/dt>\s*<dd>50001<\/dd>/)
    expect(text).toContain('getblockchaininfo has no headers: the &lt;progress&gt; is that of its blocks')
    expect(text).toContain('&quot;&gt;&lt;script&gt;hack()&lt;/script&gt;')
    expect(text).not.toContain('<script>hack')
  })

  it('are in the language of their path, with the numbers of the region of the reader', async () => {
    const shown = async (path: string, region?: string): Promise<string> => {
      const headers = region === undefined ? BROWSER : { ...BROWSER, 'accept-language': region }
      return (await (await get(path, headers)).text()).replace(/\s+/g, ' ')
    }
    for (const [path, region, lang, number] of [
      ['/', undefined, 'en-GB', '21,000,000<wbr /><span>.'],
      ['/', 'en-IN,en;q=0.9', 'en-IN', '2,10,00,000<wbr /><span>.'],
      ['/', 'de-CH,de;q=0.9,en-US;q=0.5', 'en-US', '21,000,000<wbr /><span>.'],
      ['/de', 'en-US,de-CH;q=0.5', 'de-CH', '<span>.00000000'],
      ['/de', 'de', 'de-DE', '21.000.000<wbr /><span>,'],
      ['/es', 'es-MX,es;q=0.9', 'es-419', '21,000,000<wbr /><span>.'],
      ['/es', 'es-not-a-region', 'es-ES', '21.000.000<wbr /><span>,'],
      ['/fr', undefined, 'fr-FR', '21 000 000<wbr /><span>,'],
      ['/pt', 'pt-PT', 'pt-PT', '21 000 000<wbr /><span>,'],
      ['/ja', 'zh', 'ja-JP', '21,000,000<wbr /><span>.'],
      ['/zh', 'zh-Hant-TW', 'zh-CN', '21,000,000<wbr /><span>.'],
    ] as const) {
      const of = path === '/' ? '/supply' : `${path}/supply`
      const text = await shown(of, region)
      expect(text).toContain(`<html lang="${lang}"`)
      expect(text).toContain(number)
      // A reader of another region has requested the same URL, and the cache has both answers.
      await shown(of, 'en-ZA')
      expect(await shown(of, region)).toBe(text)
    }
    expect((await get('/supply')).headers.get('vary')).toContain('accept-language')
  })

  it('explain what is malformed', async () => {
    for (const [path, sentence] of [
      [`/address/${'ab'.repeat(31)}c`, 'A hash has 64 characters, this has 63.'],
      ['/tx/xyz', '“xyz” is neither a height'],
      ['/de/tx/xyz', '„xyz“ ist weder Höhe'],
      ['/tx/00', 'A hash has 64 characters, this has 2.'],
      ['/blocks?page=0', '“page” in the address of this page must be an integer, 1 or more.'],
      ['/supply?limit=1000', '“limit” in the address of this page must be an integer from 1 to 500.'],
      ['/mining?range=ever', '“range” in the address of this page must be day, week, month, year or all.'],
      [
        '/de/supply?limit=1000',
        '„limit“ in der Adresse dieser Seite muss eine ganze Zahl von 1 bis 500 sein.',
      ],
      [`/address/${encodeURIComponent(HOSTILE)}`, '“&quot;&gt;&lt;script&gt;hack()&lt;/script&gt;”'],
    ] as const) {
      const response = await get(path)
      expect(response.status, path).toBe(400)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      const text = await response.text()
      expect(text).toContain(sentence)
      expect(text).not.toContain('<script>hack')
    }
  })

  it('have a page for an index that is not complete, which the browser requests again', async () => {
    const response = await get('/block/5')
    expect(response.status).toBe(503)
    const text = await response.text()
    expect(text).toContain('The index is not complete yet')
    expect(text).toContain('<meta http-equiv="refresh" content="5"')
  })

  it('redirect to the documentation at the host of the request, and never to another one', async () => {
    expect((await get('/_explorer/docs')).headers.get('location')).toBe('http://127.0.0.1:8081/')
    const { text } = await sendRaw(
      bare.port,
      'GET /_explorer/docs HTTP/1.1\r\nHost: evil.example/x?\r\n\r\n',
      {
        answers: 1,
      },
    )
    expect(text).toContain('location: http://localhost:8081/\r\n')
  })

  it('redirect forms to the API, also with arguments in the path', async () => {
    const target = async (query: string) => (await get(`/_explorer/try?${query}`)).headers.get('location')
    expect(await target('operation=block&heightOrHash=5')).toBe('/api/v1/block/5')
    expect(await target('operation=blocks&page=2&limit=')).toBe('/api/v1/blocks?page=2')
    expect(await target('operation=block&heightOrHash=%2F%2Fevil.example')).toBe(
      '/api/v1/block/%2F%2Fevil.example',
    )
    expect(await target('operation=nothing')).toBe('/api')
  })

  it('redirect the search to its page, whose query stays text', async () => {
    const response = await get(`/_explorer/find?lang=de&q=${encodeURIComponent(HOSTILE)}`)
    expect(response.status).toBe(303)
    const location = response.headers.get('location') ?? ''
    expect(location).toMatch(/^\/de\/search\?q=/)
    const text = await (await get(location)).text()
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;hack()&lt;/script&gt;"')
    expect(text).not.toContain('<script>hack')
  })

  it('take a query from a form in the body, and keep what may be of a wallet out of every URL', async () => {
    const find = async (q: string, lang = 'de') => {
      const body = new URLSearchParams({ lang, q })
      const response = await fetch(`${bare.url}/_explorer/find`, { method: 'POST', body, redirect: 'manual' })
      return `${String(response.status)} ${response.headers.get('location') ?? ''}`
    }
    expect(await find(HOSTILE)).toMatch(/^303 \/de\/search\?q=%22/)
    expect(await find('x'.repeat(20_000), 'en')).toBe('303 /search?q=')
    const descriptor =
      'wpkh(xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4/0/*)'
    expect(await find(descriptor)).toBe('303 /de/wallet')
    expect(await find(descriptor, 'en')).toBe('303 /wallet')
    const query = `q=${encodeURIComponent(descriptor)}`
    expect((await get(`/_explorer/find?${query}`)).headers.get('location')).toBe('/wallet')
    const typed = await get(`/search?${query}`)
    expect([typed.status, typed.headers.get('location')]).toEqual([303, '/wallet'])
    expect(await typed.text()).not.toContain('xpub6Cat')
  })
})

describe('pages that cannot be shown now', () => {
  it('say that the explorer is starting', async () => {
    const bare = await startSite({ state: new State() })
    const response = await fetch(bare.url, { headers: BROWSER })
    expect(response.status).toBe(503)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await response.text()).toContain('<meta http-equiv="refresh"')
    bare.close()
  })

  it('say how long a client that has exceeded the rate limit must wait', async () => {
    const bare = await startSite({ limit: new RateLimit({ most: 1, trustedHops: 0 }) })
    await fetch(`${bare.url}/api`, { headers: BROWSER })
    const response = await fetch(`${bare.url}/api`, { headers: BROWSER })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await response.text()).toContain('Too many requests from your address')
    const ofScript = await fetch(`${bare.url}/_explorer/suggest?q=1`, { headers: BROWSER })
    expect(ofScript.status).toBe(429)
    expect(await ofScript.json()).toMatchObject({ error: 'Rate limit exceeded' })
    bare.close()
  })
})
