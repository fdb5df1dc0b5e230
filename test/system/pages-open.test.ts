import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { addressOf } from '../../pipelines/chain/address.js'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { loadConfig } from '../../services/config.js'
import { inLanguage, LANGUAGES } from '../../services/explorer/faces/pages/language.js'
import { startExplorer } from '../../services/explorer/host/explorer.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Browsing, DESK, PHONE } from '../harness/browsing.js'
import { CHROMIUM } from '../harness/chromium.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

/** Returns a port that forwards to another one until it is cut. */
async function forwarder(
  port: number,
): Promise<{ url: string; cut(): void; heal(): Promise<void>; close(): void }> {
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let own = 0
  const listen = async (): Promise<void> => {
    server = createServer((client) => {
      const target = connect(port, '127.0.0.1')
      for (const socket of [client, target]) {
        sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          sockets.delete(socket)
          client.destroy()
          target.destroy()
        })
      }
      client.pipe(target).pipe(client)
    })
    server.listen(own, '127.0.0.1')
    await once(server, 'listening')
    own = (server.address() as { port: number }).port
  }
  await listen()
  const cut = (): void => {
    server?.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: `http://127.0.0.1:${String(own)}`, cut, heal: listen, close: cut }
}

/** The time that passes in pages between two changes of the mempool: as long as their pause between two requests. */
const SECONDS_AT_ONCE = 3

describe.skipIf(CHROMIUM === undefined)('open pages', () => {
  let node: Simnode
  let pipeline: Pipeline
  let browsing: Browsing
  let folder: string

  beforeAll(async () => {
    node = await startSimnode({ seed: 'open pages', blocks: 40, txsPerBlock: 3 })
    node.simulation.enter(12)
    folder = await mkdtemp(join(tmpdir(), 'headwater-open-'))
    const pools = join(folder, 'pools.json')
    await writeFile(pools, JSON.stringify([{ name: 'Mining pool of tests' }]))
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      rankingTail: 0,
      explorer: { auditEveryMs: 0, definitions: { pools }, explorerUrl: 'https://explorer.example/' },
    })
    await level()
    browsing = await Browsing.start(pipeline.url)
  })

  afterAll(async () => {
    await browsing?.close()
    await pipeline?.close()
    await node?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const level = (): Promise<void> =>
    pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  const open: Browsing['open'] = (...of) => browsing.open(...of)
  const done = (page: Page) => browsing.done(page)
  const isLive = (page: Page) => page.locator('.feed[data-state=live]').waitFor()

  it('name in their foot the stage that is stuck, and that they equal the node as soon as they do', async () => {
    // Nothing polls the node here, unless a test does.
    const condition = async () => (await fetch(`${pipeline.url}/_explorer/condition`)).text()
    await until('the poller is stuck', async () => (await condition()).includes('The poller is stuck'))
    const page = await open('/block/30')
    await isLive(page)
    await page.locator('.feed[data-level=stale] [role=status]', { hasText: 'The poller is stuck' }).waitFor()
    await page.waitForTimeout(1_000)
    node.simulation.mine({ blocks: 1 })
    await level()
    const foot = page.locator('.feed[data-level=good]', { hasText: 'equals the node' })
    await foot.waitFor()
    const { height, time } = node.chain.tip
    expect(await foot.locator('[role=status]').textContent()).toBe('Live')
    expect(await foot.locator('a').getAttribute('href')).toBe(`/block/${String(height)}`)
    const shown = await foot.locator('time').first().getAttribute('datetime')
    expect(Date.parse(shown ?? '')).toBe(time * 1000)
    await done(page)
  })

  it('fit the smallest phones in every language', async () => {
    const { body } = await pipeline.get('/txs/recent?limit=20')
    const confirmed = body.items.find(({ is_coinbase }: { is_coinbase: boolean }) => !is_coinbase)
    const unconfirmed = node.simulation.mempool.best(1)[0]?.txid ?? ''
    const { address } = (await pipeline.get('/stats/richlist?limit=1')).body.items[0]
    const few = ['/', `/tx/${unconfirmed}`, `/address/${address}`, '/quantum']
    const further = [
      '/blocks',
      '/block/30',
      `/tx/${confirmed.txid}`,
      '/mempool',
      '/mining',
      '/supply',
      '/reorgs',
    ]
    const rest = [
      '/op-returns',
      '/large',
      '/api',
      '/status',
      '/send',
      '/wallet',
      '/watch',
      '/search?q=x',
      '/no',
    ]
    const context = await browsing.browser.newContext({
      ...PHONE,
      viewport: { width: 320, height: 700 },
      javaScriptEnabled: false,
    })
    const page = await context.newPage()
    const wide: string[] = []
    for (const language of LANGUAGES)
      for (const path of IS_WHOLE ? [...few, ...further, ...rest] : few) {
        await page.goto(pipeline.url + inLanguage(language, path))
        const width = await page.evaluate('document.documentElement.scrollWidth')
        if (width !== 320) wide.push(`${language} ${path}: ${String(width)}`)
      }
    await context.close()
    expect(wide).toEqual([])
  })

  it('find times, mining pools and URLs of other explorers, and never send a key of a wallet', async () => {
    const page = await open('/')
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')))
    const input = page.locator('dialog.search input')
    const finds = async (text: string, href: string) => {
      await input.fill(text)
      await page.locator(`.hit a[href="${href}"]`).waitFor()
    }
    await page.keyboard.press('Control+K')
    const times = Array.from(
      { length: node.chain.tip.height + 1 },
      (_, height) => node.chain.at(height)!.time,
    )
    for (const time of [times[20]! - 1, times[30]!]) {
      const height = times.findIndex((each) => each >= time)
      await finds(new Date(time * 1000).toISOString(), `/block/${String(height)}`)
      await finds(String(time), `/block/${String(height)}`)
      expect(await page.locator('.hit', { hasText: 'First block from' }).count()).toBe(1)
    }
    await finds('mining pool of TEST', '/mining/pool/miningpooloftests')
    const { txid } = node.chain.read(node.chain.at(30)!).txs[0]!
    await finds(`https://mempool.space/tx/${txid}:0`, `/tx/${txid}`)
    await input.fill('2100-01-01')
    await page
      .locator('dialog .note', { hasText: 'There is no block of 2100-01-01 00:00:00 UTC or later yet.' })
      .waitFor()
    await input.press('Escape')

    const key =
      'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8'
    const form = page.locator('.hero input[name=q]')
    await form.fill(`wpkh(${key}/0/*)`)
    await form.press('Enter')
    const note = page.locator('.kept', { hasText: 'must be part of no URL' })
    expect(await note.getByRole('link').getAttribute('href')).toBe('/wallet')
    expect(page.url()).toBe(`${pipeline.url}/`)
    await page.keyboard.press('Control+K')
    await input.fill(key)
    await page.locator('dialog .note', { hasText: 'must be part of no URL' }).waitFor()
    await input.press('Enter')
    await page.waitForURL(`${pipeline.url}/wallet`)
    expect(sent.join(' ')).toContain('2100-01-01')
    expect(sent.join(' ')).not.toContain('xpub')
    await done(page)
  })

  it('wait for a transaction that is not known yet and for an unused address, and delete nothing that is typed', async () => {
    const script = Buffer.from(`0014${'5a'.repeat(20)}`, 'hex')
    const { coins, tip } = node.chain
    const coin = [...coins.coins].find(
      (each) => !each.coinbase && each.value > 10_000n && !node.simulation.mempool.isSpent(each),
    )!
    const tx = node.chain.pay({ from: [coin], to: [{ value: 5_000n, script }], change: coin.script })
    await level()
    const unknown = await open(`/tx/${tx.txid}`)
    await isLive(unknown)
    await unknown.locator('.hero input[name=q]').fill('half of a')
    const unused = await open(`/address/${addressOf(script, REGTEST)!}`)
    await isLive(unused)
    await unused.locator('.notice', { hasText: 'Nothing has been received here yet.' }).waitFor()
    expect(await unused.locator('.qr').count()).toBe(1)
    expect(await unused.locator('.stats .amount').first().getAttribute('value')).toBe('0')
    // An event of another transaction concerns neither page.
    const requests: string[] = []
    unknown.on('request', (request) => requests.push(request.url()))
    node.simulation.enter(2)
    await level()
    await unknown.waitForTimeout(1_500)
    expect(requests.filter((url) => url.endsWith(tx.txid))).toEqual([])
    expect(await unknown.locator('.hero input[name=q]').inputValue()).toBe('half of a')
    expect(node.simulation.mempool.accept(tx)).toBeDefined()
    await level()
    await unknown.locator('.badge.wait').first().waitFor()
    await unused.locator(`[id="t-${tx.txid}"]`).waitFor()
    expect(await unused.locator('.notice').count()).toBe(0)
    const csv = await unused.locator('a.csv').getAttribute('href')
    expect(await (await fetch(`${pipeline.url}${csv ?? ''}`)).text()).toContain(tx.txid)
    expect(node.chain.tip).toBe(tip)
    await done(unknown)
    await done(unused)
  })

  it('of ten readers at one address are never refused by the default limit, in a minute in which the mempool never rests', async () => {
    const { rateLimitPerMinute } = loadConfig({})
    const { db, log } = pipeline
    const options = { host: '127.0.0.1', port: 0, db, log, rateLimitPerMinute, auditEveryMs: 0 }
    const explorer = await startExplorer({ ...options, logger: pino({ level: 'silent' }) })
    const answers: { readonly url: string; readonly status: number }[] = []
    let sent = 0
    try {
      const page = await browsing.open('/', DESK, explorer.url, async (opened) => {
        await opened.clock.install()
        opened.on('request', (request) => {
          if (request.url() === `${explorer.url}/`) sent++
        })
        opened.on('response', (response) => {
          answers.push({ url: response.url(), status: response.status() })
        })
      })
      await isLive(page)
      // The minute passes in the page alone: all requests are in one window of the limit.
      for (let second = 0; second < 60; second += SECONDS_AT_ONCE) {
        if (second % 15 === 0) node.simulation.mine({ blocks: 1 })
        else node.simulation.enter(1)
        await level()
        await page.clock.runFor(SECONDS_AT_ONCE * 1_000)
      }
      const newest = page.locator(`[data-key="b-${node.chain.tip.hash}"]`)
      await until('the newest block is shown', async () => {
        await page.clock.runFor(500)
        return (await newest.count()) > 0
      })
      await done(page)
      const updates = answers.filter(({ url }) => url === `${explorer.url}/`).length
      console.info(`an open front page: ${String(updates)} requests of the page in a minute`)
      expect(updates).toBeGreaterThan(15)
      const statusOf = async (path: string): Promise<number> =>
        (await fetch(path, { headers: { accept: 'text/html' } })).status
      const others = []
      for (let reader = 2; reader <= 10; reader++)
        for (const { url } of answers) others.push(await statusOf(url))
      expect(new Set([...answers.map(({ status }) => status), ...others])).toEqual(new Set([200]))
      // The API has its own budget, and that of the pages ends too; in CI, rate-limit.test.ts shows how budgets end.
      if (!IS_WHOLE) return
      for (let read = 0; read < rateLimitPerMinute; read++)
        expect(await statusOf(`${explorer.url}/api/v1/stats/summary`)).toBe(200)
      expect(await statusOf(`${explorer.url}/api/v1/stats/summary`)).toBe(429)
      // The page may have closed before the response to its last request, which counts, too.
      const left = 6 * rateLimitPerMinute - 10 * updates
      let granted = 0
      while (granted <= left && (await statusOf(explorer.url)) === 200) granted++
      expect(granted).toBeGreaterThanOrEqual(left - (sent - updates))
      expect(granted).toBeLessThanOrEqual(left)
    } finally {
      await explorer.close()
    }
  })

  it('have pictures for links to them, which change as their objects do', async () => {
    const block = node.chain.at(30)!
    const { items } = (await pipeline.get(`/block/${block.hash}/txs`)).body
    const { txid, outputs } = items[0]
    const objects = [`/block/${block.hash}`, `/tx/${txid}`, `/address/${outputs[0].addresses[0].address}`]
    for (const path of objects) {
      const text = await (await fetch(pipeline.url + path, { headers: { accept: 'text/html' } })).text()
      expect(text).toContain(`content="https://explorer.example${path}.png"`)
      expect(text).toContain('content="summary_large_image"')
    }
    const tags = new Map<string, string | null>()
    for (const path of [...objects, '/mempool/block/1', '/de/index']) {
      const response = await fetch(`${pipeline.url}${path}.png`, { headers: { 'accept-encoding': 'br' } })
      expect([response.status, response.headers.get('content-type')], path).toEqual([200, 'image/png'])
      expect(response.headers.get('content-encoding')).toBeNull()
      const png = Buffer.from(await response.arrayBuffer())
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1200, 630])
      tags.set(path, response.headers.get('etag'))
    }
    for (const path of ['/block/999999', `/tx/${'00'.repeat(32)}`, '/address/nothing', '/blocks'])
      expect([400, 404], path).toContain((await fetch(`${pipeline.url}${path}.png`)).status)
    node.simulation.mine({ blocks: 1 })
    await level()
    const statusOf = async (path: string): Promise<number> =>
      (await fetch(`${pipeline.url}${path}.png`, { headers: { 'if-none-match': tags.get(path) ?? '' } }))
        .status
    expect(await statusOf(`/block/${block.hash}`)).toBe(304)
    // It has its confirmations.
    expect(await statusOf(`/tx/${txid}`)).toBe(200)
    expect(await statusOf('/de/index')).toBe(200)
  })

  it('are shown by other sites only if they are made for frames, and follow the chain there and on a wall', async () => {
    const allowed = ['/embed/block/latest', '/embed/block/30', '/embed/mempool', '/de/embed/address/nothing']
    for (const path of [...allowed, '/', '/clock', '/block/30', '/embed']) {
      const { headers } = await fetch(pipeline.url + path, { headers: { accept: 'text/html' } })
      const ancestors = allowed.includes(path) ? '*' : "'none'"
      expect(headers.get('content-security-policy'), path).toContain(`frame-ancestors ${ancestors}`)
    }
    const site = createServer((socket) => {
      const frames = ['/embed/block/latest?theme=dark', '/embed/mempool', '/clock']
        .map((path) => `<iframe src="${pipeline.url}${path}"></iframe>`)
        .join('')
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n${frames}`)
    })
    await once(site.listen(0, '127.0.0.1'), 'listening')
    const page = await browsing.browser.newPage()
    const framed = (at: number) => page.locator('iframe').nth(at).contentFrame()
    try {
      await page.goto(`http://127.0.0.1:${String((site.address() as { port: number }).port)}/`)
      const newest = framed(0).locator('h1 a')
      await newest.waitFor()
      expect(
        await newest.evaluate((link) => getComputedStyle(link.ownerDocument.body).colorScheme),
      ).toContain('dark')
      await framed(1).locator('.fees').waitFor()
      expect(await framed(2).locator('.clock').count()).toBe(0)
      const clock = await open('/clock')
      const height = clock.locator('.clock h1 a')
      expect(await height.textContent()).toBe(String(node.chain.tip.height))
      node.simulation.mine({ blocks: 1 })
      await level()
      const { hash } = node.chain.tip
      await clock.locator(`h1 a[href="/block/${hash}"]`).waitFor()
      await framed(0).locator(`h1 a[href="/block/${hash}"]`).waitFor()
      for (const width of [320, 390, 3840]) {
        await clock.setViewportSize({ width, height: Math.round(width * 0.6) })
        expect(await clock.evaluate('document.documentElement.scrollWidth')).toBe(width)
      }
      await done(clock)
    } finally {
      await page.close()
      site.close()
    }
  })

  it('list what the reader watches, with its changes since the last visit, and find stored texts', async () => {
    const coin = [...node.chain.coins.coins].find(
      (each) =>
        !each.coinbase &&
        each.value > 10_000n &&
        addressOf(each.script, REGTEST) !== undefined &&
        !node.simulation.mempool.isSpent(each),
    )!
    const address = addressOf(coin.script, REGTEST)!
    const page = await open(`/address/${address}`)
    const watch = page.locator('header button.watch')
    await watch.click()
    expect(await watch.getAttribute('aria-pressed')).toBe('true')
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    await page.goto(`${pipeline.url}/watch`)
    const now = page.locator(`.watched .of[data-id="${address}"]`)
    await now.waitFor()
    const { balance, unconfirmed } = (await pipeline.get(`/address/${address}`)).body
    const before = BigInt(balance) + BigInt(unconfirmed.balance_change)
    expect(await now.getAttribute('data-now')).toMatch(new RegExp(`^${String(before)}/`))
    expect(sent.join()).not.toContain(address)
    // What comes after this visit is a change at the next one.
    await page.goto('about:blank')
    const tx = node.chain.pay({
      from: [coin],
      to: [{ value: 1_000n, script: Buffer.from(`0014${'5b'.repeat(20)}`, 'hex') }],
      change: coin.script,
    })
    expect(node.simulation.mempool.accept(tx)).toBeDefined()
    node.simulation.mine({ blocks: 1 })
    await level()
    await page.goto(`${pipeline.url}/watch`)
    const change = page.locator(`tr[id="w-${address}"] td`).last().locator('data')
    await change.waitFor()
    const { balance: after, unconfirmed: waiting } = (await pipeline.get(`/address/${address}`)).body
    const difference = BigInt(after) + BigInt(waiting.balance_change) - before
    expect(await change.getAttribute('value')).toBe(String(difference))
    expect(await page.locator('form.watch textarea').inputValue()).toContain(address)
    await page.locator('.watched button.watch').click()
    expect(await page.locator('form.watch textarea').inputValue()).not.toContain(address)

    const html = { headers: { accept: 'text/html' }, redirect: 'manual' } as const
    const { items } = (await pipeline.get('/op-returns?limit=50')).body
    const { txid, data_text: stored } = items.find(
      (item: { data_text: string | null }) => item.data_text !== null,
    )
    const search = async (q: string): Promise<string> =>
      (await fetch(`${pipeline.url}/op-returns?${new URLSearchParams({ q }).toString()}`, html)).text()
    expect(await search(stored.slice(1).toUpperCase())).toContain(`/tx/${txid}"`)
    expect(await search(`${stored} not`)).not.toContain(`/tx/${txid}"`)
    const suggested = await (await fetch(`${pipeline.url}/_explorer/suggest?q=a+word`)).json()
    expect(suggested[0]).toMatchObject({ url: '/op-returns?q=a+word', isExact: false })
    const key = await fetch(
      `${pipeline.url}/search?q=xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8`,
      html,
    )
    expect([key.status, key.headers.get('location')]).toEqual([303, '/wallet'])
    expect([key.headers.get('cache-control'), key.headers.get('referrer-policy')]).toEqual([
      'no-store',
      'no-referrer',
    ])
    await done(page)
  })

  it('say that the connection is lost, and show what was missed when it is back', async () => {
    const proxy = await forwarder(Number(new URL(pipeline.url).port))
    try {
      const page = await open('/', DESK, proxy.url)
      await isLive(page)
      proxy.cut()
      await page.locator('.feed[data-state=lost]').waitFor()
      node.simulation.mine({ blocks: 1 })
      await level()
      await proxy.heal()
      await isLive(page)
      await page.locator(`[data-key="b-${node.chain.tip.hash}"]`).waitFor()
      await done(page)
    } finally {
      proxy.close()
    }
  })
})
