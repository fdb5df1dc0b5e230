import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { amounts, Browsing, DESK, DESK_SIZE, PHONE } from '../harness/browsing.js'
import { CHROMIUM } from '../harness/chromium.js'
import { PageFigures } from '../harness/page-figures.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const HOSTILE = '</title><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
/** The host with which the explorer names itself. */
const ORIGIN = 'https://explorer.example'
/** The maximum number of bytes that a page transfers when it is opened for the first time, compressed: the document, styles and scripts. */
const MAX_BYTES = 120_000
const MAX_SCRIPT_BYTES = 30_000
/** Paths of pages like another one: in a second language, of another block, or another list. */
const ALIKE = /^\/(?:block\/0|de|de\/tx\/\w+|address\/\w+\?show=utxos|large|nowhere|op-returns)$/

describe.skipIf(CHROMIUM === undefined)('the pages of the explorer in Chromium', () => {
  let node: Simnode
  let pipeline: Pipeline
  let browsing: Browsing
  let figures: PageFigures
  let folder: string
  let paths: readonly string[]
  let labelled = ''
  /** A transaction whose first input spends an output with an address. */
  let spent = ''
  /** A transaction whose coinbase script and OP_RETURN output contain hostile text. */
  let hostileTxid = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-pages-'))
    node = await startSimnode({ seed: 'pages', blocks: 60, txsPerBlock: 6, mix: 'rich' })
    const script = Buffer.concat([Buffer.from([0x6a, 0x4c, HOSTILE.length]), Buffer.from(HOSTILE)])
    const hostile = node.chain.mine({ tag: HOSTILE, coinbaseOutputs: [{ value: 0n, script }] })
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
    hostileTxid = (await pipeline.get(`/block/${hostile.hash}/txs`)).body.items[0].txid
    const { items: blocks } = (await pipeline.get('/blocks?limit=1')).body
    const { items: txs } = (await pipeline.get('/txs/recent?limit=20')).body
    const { items: pool } = (await pipeline.get('/mempool/txs')).body
    const spend = txs.find(({ is_coinbase }: { is_coinbase: boolean }) => !is_coinbase) ?? txs[0]
    const owned = txs.find(
      ({ inputs: [input] }: { inputs: { address: string | null }[] }) => input?.address !== null,
    )
    spent = owned.txid
    paths = [
      '/',
      '/blocks',
      `/block/${blocks[0].height}`,
      '/block/0',
      `/tx/${spend.txid}`,
      `/tx/${pool[0].txid}`,
      `/address/${labelled}`,
      `/address/${labelled}?show=utxos`,
      '/mempool',
      '/mempool/block/1',
      '/mining',
      '/mining/pool/unknown',
      '/supply?at=30',
      '/quantum',
      '/reorgs',
      '/labels',
      '/op-returns',
      '/large',
      '/api',
      '/status',
      '/send',
      '/search?q=nothing',
      '/nowhere',
      '/de',
      `/de/tx/${spend.txid}`,
      '/de/reorgs/1',
    ]
    browsing = await Browsing.start(pipeline.url)
    figures = new PageFigures(browsing, pipeline)
  })

  afterAll(async () => {
    await browsing?.close()
    await pipeline?.close()
    await node?.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function startPipeline(definitions = {}): Promise<Pipeline> {
    const started = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      rankingTail: 0,
      explorer: { auditEveryMs: 0, grpcPort: 0, broadcast: true, definitions, explorerUrl: `${ORIGIN}/` },
    })
    await started.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    return started
  }

  const level = (): Promise<void> =>
    pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })

  const open: Browsing['open'] = (...of) => browsing.open(...of)
  const done = (page: Page) => browsing.done(page)
  const isLive = (page: Page) => page.locator('.feed[data-state=live]').waitFor()

  it('have the figures of the API', async () => {
    const { items } = (await pipeline.get('/txs/recent?limit=20')).body
    const { items: waiting } = (await pipeline.get('/mempool/txs?limit=1')).body
    const txids = [...items.slice(0, IS_WHOLE ? 4 : 2), ...waiting].map(({ txid }: { txid: string }) => txid)
    for (const txid of txids) await figures.ofTransaction(txid)
    await figures.ofAddress(labelled)
    await figures.ofBlock(30)
    await figures.ofChain()
    await figures.ofFront()
    await figures.ofFlow(spent)
  })

  it('have maps of mined and projected blocks, whose cells are the transactions of the API', () =>
    figures.ofMaps(30))

  it('draw charts of the figures in their tables, which are those of the API and the CSV, with and without JavaScript', () =>
    figures.ofCharts())

  it('copy an address whole though it is cut off, say so, and lead along a coin in both directions', async () => {
    const page = await open(`/tx/${spent}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const owner = page.locator('#i-0 > div > a.hash')
    const address = (await owner.getAttribute('title'))!
    await owner.evaluate((link) => getSelection()?.selectAllChildren(link))
    expect(await page.evaluate('getSelection().toString()')).toBe(address)
    const outpoint = page.locator('#i-0 .about a.hash')
    expect(
      await outpoint.evaluate(
        (link) => link.firstElementChild!.scrollWidth > link.firstElementChild!.clientWidth,
      ),
    ).toBe(true)
    await page.locator('#i-0 > div > button.copy').click()
    await page.locator('[role=status]', { hasText: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address)
    const [txid, vout] = (await outpoint.getAttribute('title'))!.split(':')
    await outpoint.click()
    await page.waitForURL(`${pipeline.url}/tx/${txid}#o-${vout}`)
    await page.locator('li:target .about a.hash').click()
    await page.waitForURL(`${pipeline.url}/tx/${spent}#i-0`)
    await done(page)
  })

  it('show amounts in base units if the reader wants, remember it, and copy an amount as a plain number', async () => {
    const page = await open(`/tx/${spent}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const amount = page.locator('.stats data.amount').first()
    const value = (await amount.getAttribute('value'))!
    const inCoins = await amount.textContent()
    const copied = async (): Promise<unknown> => {
      await amount.evaluate((each) => getSelection()?.selectAllChildren(each))
      await page.keyboard.press('Control+C')
      return page.evaluate('navigator.clipboard.readText()')
    }
    expect(Number(await copied()) * 1e8).toBeCloseTo(Number(value), 5)
    const unit = page.locator('button.units')
    expect(await unit.getAttribute('aria-label')).toBe('Unit of amounts: BTQ')
    await unit.click()
    const inBase = `${Number(value).toLocaleString('en-GB')} sat`
    expect(await amount.textContent()).toBe(inBase)
    expect(await copied()).toBe(value)
    await page.goto(`${pipeline.url}/tx/${spent}`)
    await unit.waitFor()
    await page.waitForFunction(
      (text) => document.querySelector('.stats data.amount')?.textContent === text,
      inBase,
    )
    // What changes without a reload is in base units too.
    await page.goto(`${pipeline.url}/mempool`)
    await isLive(page)
    node.simulation.enter(1)
    await level()
    const txid = [...node.simulation.mempool.entries()].at(-1)!.tx.txid
    const row = page.locator(`[data-key="m-${txid}"]`)
    await row.waitFor()
    expect(await row.locator('data.amount').textContent()).toMatch(/^[\d,]+$/)
    expect(await page.locator('th .unit').first().textContent()).toBe('sat')
    await unit.click()
    await page.goto(`${pipeline.url}/tx/${spent}`)
    expect(await amount.textContent()).toBe(inCoins)
    await done(page)
  })

  it('show a new block and a new transaction without a reload', async () => {
    const page = await open('/')
    await isLive(page)
    await page.evaluate(`window.isSame = true
      new MutationObserver(() => (window.isSealed ||= document.querySelector('.cubes.sealed') !== null))
        .observe(document.body, { subtree: true, attributeFilter: ['class'] })`)
    node.simulation.enter(1)
    await level()
    const txid = [...node.simulation.mempool.entries()].at(-1)!.tx.txid
    await page.locator(`[data-key="m-${txid}"]`).waitFor()
    node.simulation.mine({ blocks: 1 })
    await level()
    await page.locator(`[data-key="b-${node.chain.tip.hash}"]`).waitFor()
    await until('the next block is sealed', () => page.evaluate<boolean>('window.isSealed'))
    expect(await page.evaluate('window.isSame')).toBe(true)
    await done(page)
  })

  it('change no list below the pointer or the focus, but say how many entries are new', async () => {
    const page = await open('/')
    await isLive(page)
    const list = page.locator('.scroll:has([data-key^=m-])').first()
    const keys = () => list.locator('tbody tr').evaluateAll((all) => all.map((row) => row.dataset['key']))
    const fresh = list.locator('.fresh button')
    const enter = async (): Promise<string> => {
      node.simulation.enter(1)
      await level()
      return `m-${[...node.simulation.mempool.entries()].at(-1)!.tx.txid}`
    }
    await list.locator('tbody tr').nth(2).hover()
    const before = await keys()
    const first = await enter()
    await fresh.waitFor()
    expect(await fresh.textContent()).toBe('New: 1')
    expect(await page.locator('.announcements').textContent()).toBe('New: 1')
    expect(await keys()).toEqual(before)
    await fresh.click()
    expect((await keys())[0]).toBe(first)
    // The keyboard holds a list too, until it leaves.
    await page.mouse.move(0, 0)
    await list.focus()
    await page.keyboard.press('Tab')
    const focused = await keys()
    const second = await enter()
    await fresh.waitFor()
    expect(await keys()).toEqual(focused)
    await page.locator('.brand').focus()
    expect((await keys())[0]).toBe(second)
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
    const [newest] = (await pipeline.get('/reorgs?limit=1')).body.items
    const row = list.locator(`#r-${String(newest.seq)}`)
    for (const [column, branch] of [
      [4, newest.disconnected],
      [5, newest.connected],
    ] as const) {
      const heights = branch
        .map(({ height }: { height: number }) => height)
        .sort((a: number, b: number) => a - b)
      const text = await row.locator(`td:nth-child(${column})`).innerText()
      expect(text.match(/^\d+(?= )/gm)?.map(Number)).toEqual(heights)
    }
    const time = (await pipeline.get(`/block/${newest.connected.at(-1).hash}`)).body.timestamp
    expect(await row.locator('time').getAttribute('datetime')).toBe(time)
    await done(list)
  })

  it('have feeds with the figures of the API, whose entries keep their ids', async () => {
    const of = { origin: ORIGIN, label: HOSTILE }
    const before = await figures.ofFeeds(labelled, of)
    const { headers } = await fetch(`${pipeline.url}/reorgs.atom`)
    node.simulation.mine({ blocks: 1 })
    await level()
    const after = await figures.ofFeeds(labelled, of)
    expect(after[0]).not.toEqual(before[0])
    for (const [index, ids] of before.entries()) {
      const kept = [...ids].filter(([url]) => after[index]!.has(url))
      expect(kept.length).toBeGreaterThan(0)
      expect(kept.map(([url]) => after[index]!.get(url))).toEqual(kept.map(([, id]) => id))
    }
    // A block changes nothing of a feed that does not have it.
    const ifNoneMatch = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
    expect((await fetch(`${pipeline.url}/reorgs.atom`, ifNoneMatch)).status).toBe(304)
  })

  it('have previews with the figures of the API', () =>
    figures.ofPreviews([`/tx/${spent}`, '/block/30', `/address/${labelled}`], ORIGIN))

  it('verify a transaction by the browser itself, and notice a block, a branch or bytes that are not right', async () => {
    const page = await open(`/tx/${spent}`)
    const steps = page.locator('.verify li')
    const verify = async (): Promise<string[]> => {
      await page.locator('.verify button').click()
      await page.locator('.verify button:not([disabled])').waitFor()
      return steps.evaluateAll((all) => all.map((step) => step.dataset['state'] ?? ''))
    }
    expect(await verify()).toEqual(['right', 'right', 'right', 'right', 'right'])
    const { block_hash } = (await pipeline.get(`/tx/${spent}`)).body
    expect(await steps.nth(2).locator('code').textContent()).toBe(block_hash)
    const lie = async (path: RegExp, change: (text: string) => string): Promise<string[]> => {
      await page.route(path, async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, body: change(await response.text()) })
      })
      await page.reload()
      const states = await verify()
      await page.unroute(path)
      return states
    }
    expect(await lie(/\/hex$/, (text) => text.replace(/"hex":"../, '"hex":"07'))).toEqual([
      'wrong',
      '',
      '',
      '',
      '',
    ])
    const flip = (text: string): string =>
      text.replace(/"merkle":\["(.)/, (all, first: string) => all.slice(0, -1) + (first === '0' ? '1' : '0'))
    expect(await lie(/merkle-proof$/, flip)).toEqual(['right', 'wrong', '', '', ''])
    const nonce = (text: string): string => text.replace(/"nonce":"\d+"/, '"nonce":"1"')
    expect(await lie(/\/block\//, nonce)).toEqual(['right', 'right', 'wrong', '', ''])
    expect(await lie(/blocks\/tip$/, () => '{')).toEqual(['right', 'right', 'right', 'right', 'failed'])
    await done(page)
  })

  it('say that a page is beyond the end of its list, with a link to the last one', async () => {
    const lists = [
      '/blocks',
      '/op-returns',
      '/reorgs',
      '/supply?limit=20',
      '/block/30?limit=2',
      `/address/${labelled}`,
      `/address/${labelled}?show=utxos`,
      '/de/blocks',
      `/tx/${hostileTxid}`,
    ]
    for (const path of lists) {
      const pageOf = async (url: string) => (await fetch(pipeline.url + url)).text()
      const beyond = await pageOf(`${path}${path.includes('?') ? '&' : '?'}page=9999`)
      const found =
        /(?:There is no page 9,999: the last one is|Seite 9.999 gibt es nicht: Die letzte ist) [\d,.]+\.\s*<a href="([^"]+)"/.exec(
          beyond,
        )
      expect(found, path).not.toBeNull()
      const last = found![1]!.replaceAll('&amp;', '&')
      expect(last.startsWith(path), last).toBe(true)
      expect(beyond).not.toContain('class="pager"')
      const rows = /<tr id="|class="tx" id="|<ol class="coins">/
      expect(await pageOf(last), last).toMatch(rows)
      expect(beyond.slice(beyond.indexOf('<main'))).not.toMatch(rows)
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

  it('have a menu that closes, keys, a theme with a state, and print without navigation', async () => {
    const page = await open('/block/30')
    const menu = page.locator('.links details')
    const isOpen = () => menu.evaluate((each) => (each as HTMLDetailsElement).open)
    for (const close of [() => page.keyboard.press('Escape'), () => page.locator('h1').click()]) {
      await menu.locator('summary').click()
      expect(await isOpen()).toBe(true)
      await close()
      expect(await isOpen()).toBe(false)
    }
    const theme = page.locator('.bar .theme')
    const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await paper()
    for (const name of ['dark', 'light', 'as the system', 'dark']) {
      await theme.click()
      expect(await theme.getAttribute('aria-label')).toBe(`Theme: ${name}`)
    }
    expect(await paper()).not.toBe(light)
    await page.keyboard.press('?')
    await page.locator('dialog.keys').getByText('Next block').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Escape')
    expect(await page.locator('dialog.keys').isVisible()).toBe(false)
    for (const [key, height] of [
      ['ArrowRight', 31],
      ['ArrowLeft', 30],
    ] as const) {
      await page.keyboard.press(key)
      await page.waitForURL(`${pipeline.url}/block/${height}`)
    }
    await page.emulateMedia({ media: 'print' })
    expect(await paper()).toBe(light)
    for (const part of ['.bar', '.foot', 'button.copy'])
      expect(await page.locator(part).first().isVisible(), part).toBe(false)
    await page.evaluate('localStorage.clear()')
    await done(page)
  })

  it('have the files that browsers and search engines request by name', async () => {
    for (const [path, type, start] of [
      ['/favicon.ico', 'image/x-icon', '00000100'],
      ['/apple-touch-icon.png', 'image/png', '89504e47'],
      ['/robots.txt', 'text/plain; charset=utf-8', Buffer.from('User-agent: *').toString('hex')],
    ] as const) {
      const response = await fetch(pipeline.url + path)
      expect([response.status, response.headers.get('content-type')], path).toEqual([200, type])
      expect(
        Buffer.from(await response.arrayBuffer())
          .toString('hex')
          .startsWith(start),
        path,
      ).toBe(true)
    }
  })

  it('have their data without JavaScript, where the search is a form', async () => {
    for (const path of paths) {
      const html = await (await fetch(pipeline.url + path, { headers: { accept: 'text/html' } })).text()
      expect(html.match(/<h1/g), path).toHaveLength(1)
      const main = /<main[^>]*>([^]*)<\/main>/.exec(html)?.[1]?.replace(/<[^>]*>|\s+/g, ' ') ?? ''
      expect(main.trim().length, path).toBeGreaterThan(40)
    }
    const page = await open('/', { ...DESK, javaScriptEnabled: false })
    await page.locator('.hero input[name=q]').fill('30')
    await page.locator('.hero button').click()
    expect(page.url()).toBe(`${pipeline.url}/block/30`)
    await page.goto(`${pipeline.url}/search?q=-5`)
    expect(await page.locator('.empty').textContent()).toBe('Heights begin at 0.')
    await page.context().close()
  })

  it('check and send a transaction without JavaScript, and explain why the node refuses one', async () => {
    const coin = node.chain.coins.coins.find(({ coinbase, value }) => !coinbase && value > 1_000_000n)!
    const tx = node.chain.pay({
      from: [coin],
      to: [],
      change: coin.script,
      fee: 5_000n,
      sequence: 0xffff_ffff,
    })
    const page = await open('/send', { ...DESK, javaScriptEnabled: false })
    const check = async (hex: string) => {
      await page.locator('textarea').fill(hex)
      await page.locator('.wallet button').click()
      return (await page.locator('main').innerText()).replace(/\s+/g, ' ')
    }
    expect(await check('70736274ff01')).toContain('partially signed transaction')
    expect(await check(tx.raw.toString('hex').replace(/.{60}/g, '$&\n'))).toContain(
      'The node accepts this transaction.',
    )
    expect(await amounts(page, '.stats')).toEqual(['5000', String(coin.value - 5_000n)])
    expect(node.simulation.mempool.get(tx.txid)).toBeUndefined()
    await page.locator('.send button').click()
    expect(node.simulation.mempool.get(tx.txid)?.fee).toBe(5_000n)
    await level()
    await page.locator('.verdict a').click()
    expect(page.url()).toBe(`${pipeline.url}/tx/${tx.txid}`)
    await page.goto(`${pipeline.url}/send`)
    const other = node.chain.pay({
      from: [coin],
      to: [],
      change: coin.script,
      fee: 9_000n,
      sequence: 0xffff_ffff,
    })
    expect(await check(other.raw.toString('hex'))).toMatch(
      /The node refuses this transaction.*does not pay enough more to replace it.*txn-mempool-conflict.*It replaces unconfirmed transactions/,
    )
    expect(await page.locator('.send').count()).toBe(0)
    await page.context().close()
  })

  it('show hostile labels, data and texts of miners as text', async () => {
    const pages = ['/labels', `/address/${labelled}`, '/supply', '/op-returns', `/tx/${hostileTxid}`]
    for (const path of pages) {
      const page = await open(path)
      expect(await page.locator('main').innerText(), path).toContain('<script>window.hacked=1</script>')
      await done(page)
    }
    const page = await open(`/tx/${hostileTxid}`)
    expect(await page.locator('.payload', { hasText: HOSTILE }).count()).toBe(2)
    await done(page)
  })

  /** Expects no serious finding of axe about the page in the light theme, and if wanted in the dark one. */
  async function expectAccessible(page: Page, path: string, isDark: boolean): Promise<void> {
    await page.evaluate(AXE)
    for (const colorScheme of isDark ? (['light', 'dark'] as const) : (['light'] as const)) {
      await page.emulateMedia({ colorScheme })
      const violations = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
        // A theme is another set of colours. Selectors of the nodes that pass would take most of the time.
        `axe.run({ ${colorScheme === 'dark' ? "runOnly: ['color-contrast'], " : ''}resultTypes: ['violations'] }).then(({ violations }) => violations)`,
      )
      const serious = violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)
      expect(serious, `${path} ${colorScheme}`).toEqual([])
    }
  }

  it('fit a phone, are small, and have no serious finding of axe in either theme', async () => {
    // In CI, each kind of page once, and every sixth one also in the dark theme.
    const measured = paths.filter((path) => IS_WHOLE || !ALIKE.test(path))
    expect(measured.length).toBeGreaterThan(15)
    for (const [at, path] of measured.entries()) {
      const types = new Map<string, string>()
      let [all, scripts] = [0, 0]
      // German words are longer, and the smallest phones are 320 pixels wide.
      const width = path.startsWith('/de') ? 320 : 390
      const phone = { ...PHONE, viewport: { width, height: 844 }, reducedMotion: 'reduce' } as const
      const page = await open(path, phone, pipeline.url, async (opened) => {
        const session = await opened.context().newCDPSession(opened)
        await session.send('Network.enable')
        session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type))
        session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
          all += encodedDataLength
          if (types.get(requestId) === 'Script') scripts += encodedDataLength
        })
      })
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(width)
      expect(all, path).toBeLessThan(MAX_BYTES)
      expect(scripts, path).toBeLessThan(MAX_SCRIPT_BYTES)
      await page.setViewportSize(DESK_SIZE)
      await expectAccessible(page, path, IS_WHOLE || at % 6 === 0)
      await done(page)
    }
  })

  it('say when a transaction will be confirmed, and notify the reader when it is', async () => {
    node.simulation.enter(3)
    await level()
    const { txid } = node.simulation.mempool.best(1)[0]!
    const page = await open(`/tx/${txid}`, DESK, pipeline.url, async (opened) => {
      await opened.addInitScript(`window.shown = []
        window.Notification = class {
          static requestPermission() { return Promise.resolve('granted') }
          constructor(title, { body }) { window.shown.push([title, body]) }
        }`)
    })
    const section = page.locator('.part', { hasText: 'When will it confirm?' })
    expect(await section.locator('dd').first().textContent()).toBe('in the next block, in about 1 minute')
    await isLive(page)
    await section.locator('button').click()
    await section.getByText('You will be notified while this page is open.').waitFor()
    // Some blocks of the simulation are empty.
    for (let mined = 0; node.simulation.mempool.get(txid) !== undefined && mined < 20; mined++)
      node.simulation.mine({ blocks: 1 })
    await level()
    await until('the reader is notified', () => page.evaluate<boolean>('window.shown.length > 0'), 20_000)
    const { block_height: height } = (await pipeline.get(`/tx/${txid}/status`)).body
    expect(await page.evaluate('window.shown')).toEqual([[`Confirmed in block ${String(height)}`, txid]])
    await done(page)
  })

  it('are not what clients that prefer JSON get at the same paths', async () => {
    for (const path of ['/', '/block/1', '/mempool']) {
      const response = await fetch(pipeline.url + path, { headers: { accept: 'application/json' } })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({
        error: 'Not Found',
        message: `Route GET:${path} not found`,
        statusCode: 404,
      })
    }
  })
})
