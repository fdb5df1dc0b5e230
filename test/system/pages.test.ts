import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { CHROMIUM } from '../harness/chromium.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const HOSTILE = '</title><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 900 } }
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
/** What a page may transfer when it is opened for the first time, compressed: the document, styles and scripts. */
const MAX_BYTES = 120_000
const MAX_SCRIPT_BYTES = 40_000

interface Transaction {
  readonly txid: string
  readonly output_value: string
  readonly fee: string
  readonly is_coinbase: boolean
  readonly inputs: readonly { readonly value: string | null }[]
  readonly outputs: readonly {
    readonly value: string
    readonly addresses: readonly { readonly address: string }[]
  }[]
}

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

describe.skipIf(CHROMIUM === undefined)('the pages of the explorer in Chromium', () => {
  let node: Simnode
  let pipeline: Pipeline
  let browser: Browser
  let folder: string
  let paths: readonly string[]
  let labelled = ''
  const errors: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-pages-'))
    node = await startSimnode({ seed: 'pages', blocks: 60, txsPerBlock: 6, mix: 'rich' })
    const first = await startPipeline()
    const { body: rich } = await first.get('/stats/richlist?limit=1')
    labelled = rich.items[0].address
    await first.close()
    await writeFile(
      join(folder, 'labels.jsonl'),
      `${JSON.stringify({ address: labelled, label: HOSTILE, category: HOSTILE, url: 'https://example.org/', verified: true })}\n`,
    )
    pipeline = await startPipeline({ labels: join(folder, 'labels.jsonl') })
    node.simulation.enter(12)
    await level()
    const { items: blocks } = (await pipeline.get('/blocks?limit=1')).body
    const { items: txs } = (await pipeline.get('/txs/recent?limit=20')).body
    const { items: pool } = (await pipeline.get('/mempool/txs')).body
    const spend = txs.find(({ is_coinbase }: Transaction) => !is_coinbase) ?? txs[0]
    paths = [
      ...[
        '/',
        '/blocks',
        `/block/${blocks[0].height}`,
        '/block/0',
        `/tx/${spend.txid}`,
        `/tx/${pool[0].txid}`,
      ],
      ...[
        `/address/${labelled}`,
        `/address/${labelled}?show=utxos`,
        '/mempool',
        '/mining',
        '/supply',
        '/quantum',
      ],
      ...['/reorgs', '/labels', '/op-returns', '/large', '/api', '/status', '/search?q=nothing', '/nowhere'],
      ...['/de', `/de/tx/${spend.txid}`, '/de/mining'],
    ]
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
  })

  afterAll(async () => {
    await browser?.close()
    await pipeline?.close()
    await node?.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function startPipeline(definitions = {}): Promise<Pipeline> {
    const started = await Pipeline.start({
      ...{ nodeUrl: node.url, engineUrl: inject('engineUrl'), rankingTail: 0 },
      explorer: { auditEveryMs: 0, grpcPort: 0, definitions },
    })
    await started.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    return started
  }

  const level = (): Promise<void> =>
    pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })

  /** Opens a page in a browser of its own, and records every request to another host and every error of a script. */
  async function open(
    path: string,
    options: BrowserContextOptions = DESK,
    base = pipeline.url,
  ): Promise<Page> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    errors.length = 0
    page.on('request', (request) => {
      if (!request.url().startsWith(base)) errors.push(`requested ${request.url()}`)
    })
    page.on('pageerror', ({ message }) => errors.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/404|ERR_CONNECTION|WebSocket/.test(message.text()))
        errors.push(message.text())
    })
    await page.goto(base + path)
    return page
  }

  async function done(page: Page): Promise<void> {
    expect(errors).toEqual([])
    expect(await page.evaluate('window.hacked')).toBeUndefined()
    await page.context().close()
  }

  const amounts = (page: Page, selector: string): Promise<string[]> =>
    page
      .locator(`${selector} data.amount`)
      .evaluateAll((all) => all.map((each) => each.getAttribute('value') ?? ''))
  const isLive = (page: Page) => page.locator('.feed[data-state=live]').waitFor()

  it('show a transaction with the figures of the API', async () => {
    const { items } = (await pipeline.get('/txs/recent?limit=20')).body
    for (const { txid } of items.slice(0, 4) as Transaction[]) {
      const tx = (await pipeline.get(`/tx/${txid}`)).body as Transaction
      const page = await open(`/tx/${txid}`)
      const [inputs, outputs] = [
        await amounts(page, '.sides section:first-child li'),
        await amounts(page, '.sides section:last-child li'),
      ]
      expect(inputs).toEqual(tx.inputs.flatMap(({ value }) => (value === null ? [] : [value])))
      expect(outputs).toEqual(tx.outputs.map(({ value }) => value))
      expect(await amounts(page, '.stats')).toEqual([tx.output_value, ...(tx.is_coinbase ? [] : [tx.fee])])
      await done(page)
    }
  })

  it('show an address, a block and the supply with the figures of the API', async () => {
    const summary = (await pipeline.get(`/address/${labelled}`)).body
    const history = (await pipeline.get(`/address/${labelled}/txs`)).body
    const page = await open(`/address/${labelled}`)
    const { balance_change: change, tx_count: unconfirmed } = summary.unconfirmed
    expect(await amounts(page, '.stats')).toEqual([
      summary.balance,
      ...(unconfirmed === 0 ? [] : [change]),
      summary.total_received,
      summary.total_sent,
    ])
    expect(await amounts(page, 'tbody tr[id^=t-]')).toEqual(
      history.items.map((item: { value_change: string }) => item.value_change),
    )
    await done(page)
    const block = (await pipeline.get('/block/30')).body
    const blockPage = await open('/block/30')
    expect(await amounts(blockPage, '.stats')).toEqual([block.subsidy, block.total_fees])
    expect(await blockPage.locator('h1').textContent()).toContain('30')
    await done(blockPage)
    const supply = (await pipeline.get('/stats/supply')).body
    const rich = (await pipeline.get('/stats/richlist?limit=50')).body
    const supplyPage = await open('/supply')
    expect(await amounts(supplyPage, '.stats')).toEqual([supply.circulatingSupply, supply.maxSupply])
    expect(await amounts(supplyPage, 'tbody tr[id^=a-]')).toEqual(
      rich.items.map(({ balance }: { balance: string }) => balance),
    )
    await done(supplyPage)
  })

  it('draw charts of the figures in their tables, which are those of the CSV', async () => {
    const page = await open('/mining')
    await page.locator('#chart-difficulty canvas').waitFor()
    const shown = await page
      .locator('#chart-difficulty tbody td:last-child data')
      .evaluateAll((all) => all.map((each) => each.getAttribute('value')))
    const csv = await (await fetch(`${pipeline.url}/charts/difficulty.csv`)).text()
    const lines = csv.trim().split('\n').slice(1)
    expect(shown).toEqual(lines.map((line) => line.split(',')[1]))
    const { items } = (await pipeline.get('/mining/difficulty')).body
    expect(shown).toEqual(items.map(({ difficulty }: { difficulty: string }) => difficulty))
    await page.locator('#chart-difficulty .u-over').hover()
    const value = page.locator('#chart-difficulty .u-series:nth-child(2) .u-value')
    await until('the exact figure is shown', async () => /\d/.test((await value.textContent()) ?? ''))
    await done(page)
  })

  it('show a new block and a new transaction without a reload', async () => {
    const page = await open('/')
    await isLive(page)
    await page.evaluate('window.isSame = true')
    node.simulation.enter(1)
    await level()
    const txid = [...node.simulation.mempool.entries()].at(-1)!.tx.txid
    await page.locator(`#m-${txid}`).waitFor()
    node.simulation.mine({ blocks: 1 })
    await level()
    await page.locator(`#b-${node.chain.tip.hash}`).waitFor()
    expect(await page.evaluate('window.isSame')).toBe(true)
    await done(page)
  })

  it('show a reorganisation without a reload: the block is marked, with a link to the one that replaced it', async () => {
    node.simulation.mine({ blocks: 2 })
    await level()
    const replaced = node.chain.tip.hash
    const page = await open(`/block/${replaced}`)
    await isLive(page)
    await page.evaluate('window.isSame = true')
    expect(await page.locator('.badge.stale').count()).toBe(0)
    node.simulation.reorg(2, 3)
    await level()
    await page.locator('h1 .badge.stale').waitFor()
    const link = await page.locator('.notice a').getAttribute('href')
    const { height } = (await pipeline.get(`/block/${replaced}`)).body
    expect(link).toBe(`/block/${(await pipeline.get(`/block/${height}`)).body.hash}`)
    expect(await page.evaluate('window.isSame')).toBe(true)
    await done(page)
    const list = await open('/reorgs')
    expect(await list.locator(`a[href="/block/${replaced}"]`).count()).toBe(1)
    await done(list)
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
      await page.locator(`#b-${node.chain.tip.hash}`).waitFor()
      await done(page)
    } finally {
      proxy.close()
    }
  })

  it('find heights, hashes, addresses and labels as they are typed, and explain what is malformed', async () => {
    const page = await open('/')
    await page.keyboard.press('/')
    const type = (text: string) => page.locator('dialog.search input').fill(text)
    await type('30')
    await page.locator('.hit a[href="/block/30"]').waitFor()
    await type('</title>')
    await page.locator(`.hit a[href="/address/${labelled}"]`).waitFor()
    await type('ab'.repeat(31))
    await page.locator('dialog .note', { hasText: 'A hash has 64 characters, this has 62.' }).waitFor()
    const { txid } = (await pipeline.get('/txs/recent?limit=1')).body.items[0]
    await type(txid)
    await page.locator(`.hit a[href="/tx/${txid}"]`).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${pipeline.url}/tx/${txid}`)
    await done(page)
  })

  it('have their data without JavaScript, where the search is a form', async () => {
    for (const path of paths) {
      const page = await open(path, { ...DESK, javaScriptEnabled: false })
      expect(await page.locator('h1').count(), path).toBe(1)
      const main = (await page.locator('main').innerText()).replace(/\s+/g, ' ')
      expect(main.length, path).toBeGreaterThan(40)
      await page.context().close()
    }
    const page = await open('/', { ...DESK, javaScriptEnabled: false })
    await page.locator('.hero input').fill('30')
    await page.locator('.hero button').click()
    expect(page.url()).toBe(`${pipeline.url}/block/30`)
    await page.goto(`${pipeline.url}/search?q=-5`)
    expect(await page.locator('.empty').textContent()).toBe('Heights begin at 0.')
    await page.context().close()
  })

  it(
    'have no serious finding of axe in either theme, and fit a phone',
    { timeout: 30 * 60_000 },
    async () => {
      for (const path of paths) {
        for (const colorScheme of ['light', 'dark'] as const) {
          const page = await open(path, { ...DESK, colorScheme, reducedMotion: 'reduce' })
          await page.evaluate(AXE)
          const violations = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
            'axe.run().then(({ violations }) => violations)',
          )
          const serious = violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)
          expect(serious, `${path} ${colorScheme}`).toEqual([])
          await done(page)
        }
        const phone = await open(path, PHONE)
        expect(await phone.evaluate('document.documentElement.scrollWidth'), path).toBe(390)
        await done(phone)
      }
    },
  )

  it('show hostile labels as text', async () => {
    for (const path of ['/labels', `/address/${labelled}`, '/supply']) {
      const page = await open(path)
      expect(await page.locator('main').innerText(), path).toContain('<script>window.hacked=1</script>')
      await done(page)
    }
  })

  it('are small', async () => {
    for (const path of paths) {
      const context = await browser.newContext(DESK)
      const page = await context.newPage()
      const session = await context.newCDPSession(page)
      await session.send('Network.enable')
      const types = new Map<string, string>()
      let [all, scripts] = [0, 0]
      session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type))
      session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
        all += encodedDataLength
        if (types.get(requestId) === 'Script') scripts += encodedDataLength
      })
      await page.goto(pipeline.url + path, { waitUntil: 'load' })
      if ((await page.locator('.plot').count()) > 0) await page.locator('.plot canvas').first().waitFor()
      expect(all, path).toBeLessThan(MAX_BYTES)
      expect(scripts, path).toBeLessThan(MAX_SCRIPT_BYTES)
      await context.close()
    }
  })

  it('are not what API clients get at the same paths', async () => {
    for (const path of ['/', '/block/1', '/mempool']) {
      const response = await fetch(pipeline.url + path)
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({
        error: 'Not Found',
        message: `Route GET:${path} not found`,
        statusCode: 404,
      })
    }
  })
})
