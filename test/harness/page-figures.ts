import { expect } from 'vitest'
import type { Page } from 'playwright-core'
import { amounts, type Browsing, DESK, digits, texts } from './browsing.js'
import type { Pipeline } from './pipeline.js'
import { until } from './until.js'

interface Transaction {
  readonly txid: string
  readonly output_value: string
  readonly fee: string
  readonly is_coinbase: boolean
  readonly is_dilithium: boolean
  readonly inputs: readonly { readonly value: string | null }[]
  readonly outputs: readonly { readonly value: string }[]
}

interface ParsedFeed {
  readonly type: string | null
  readonly title: string
  readonly updated: string
  /** The URL by which it names itself. */
  readonly self: string
  readonly entries: readonly { readonly id: string; readonly updated: string; readonly url: string }[]
}

/** Compares the figures that pages show with those of the API. */
export class PageFigures {
  constructor(
    private readonly browsing: Browsing,
    private readonly pipeline: Pipeline,
  ) {}

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers are read as a client would
  async #api(path: string): Promise<any> {
    return (await this.pipeline.get(path)).body
  }

  async ofTransaction(txid: string): Promise<void> {
    const tx = (await this.#api(`/tx/${txid}`)) as Transaction
    const page = await this.browsing.open(`/tx/${txid}`)
    expect(await amounts(page, '.sides section:first-child li')).toEqual(
      tx.inputs.flatMap(({ value }) => (value === null ? [] : [value])),
    )
    expect(await amounts(page, '.sides section:last-child li')).toEqual(tx.outputs.map(({ value }) => value))
    expect(await amounts(page, '.stats')).toEqual([tx.output_value, ...(tx.is_coinbase ? [] : [tx.fee])])
    expect(await page.locator('h1 .badge.quantum').count()).toBe(tx.is_dilithium ? 1 : 0)
    await this.browsing.done(page)
  }

  async ofAddress(address: string): Promise<void> {
    const summary = await this.#api(`/address/${address}`)
    const history = await this.#api(`/address/${address}/txs?limit=25`)
    const page = await this.browsing.open(`/address/${address}`)
    const { balance_change: change, tx_count: unconfirmed } = summary.unconfirmed
    expect(await amounts(page, '.stats'), address).toEqual([
      summary.balance,
      ...(unconfirmed === 0 ? [] : [change]),
      summary.total_received,
      summary.total_sent,
    ])
    expect(await amounts(page, 'tbody tr[id^=t-]'), address).toEqual(
      history.items.map((item: { value_change: string }) => item.value_change),
    )
    await this.browsing.done(page)
  }

  async ofBlock(height: number): Promise<void> {
    const block = await this.#api(`/block/${String(height)}`)
    const { items } = await this.#api(`/block/${String(height)}/txs?limit=25`)
    const page = await this.browsing.open(`/block/${String(height)}`)
    expect(await amounts(page, '.stats')).toEqual([block.subsidy, block.total_fees])
    expect(await digits(page, 'h1')).toEqual([String(height)])
    expect(await page.locator('header .copyable code').textContent()).toBe(block.hash)
    expect(await page.locator('article.tx').evaluateAll((all) => all.map(({ id }) => id))).toEqual(
      items.map(({ txid }: { txid: string }) => `t-${txid}`),
    )
    await this.browsing.done(page)
  }

  /** Walks along a transaction's ribbons by the pointer and the keyboard, without JavaScript. @param txid of a confirmed one. */
  async ofFlow(txid: string): Promise<void> {
    const { inputs } = await this.#api(`/tx/${txid}`)
    const coins = inputs.map(
      ({ prev_txid, prev_vout }: Record<string, unknown>) =>
        `/tx/${String(prev_txid)}#o-${String(prev_vout)}`,
    )
    const page = await this.browsing.open(`/tx/${txid}`, { ...DESK, javaScriptEnabled: false })
    const ribbons = page.locator('.flow a')
    const hrefs = await ribbons.evaluateAll((all) => all.map((each) => each.getAttribute('href')))
    expect(hrefs.slice(0, coins.length)).toEqual(coins)
    expect(hrefs.length).toBeGreaterThan(2)
    const label = (at: number) => ribbons.nth(at).locator('p')
    expect(await label(0).isVisible()).toBe(false)
    await ribbons.nth(0).locator('path').hover()
    expect(await amounts(page, '.flow p:visible')).toEqual([inputs[0].value])
    await page.mouse.move(0, 0)
    await ribbons.nth(0).focus()
    expect(await label(0).isVisible()).toBe(true)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${coins[0]}`)
    await page.context().close()
  }

  /** Compares the beginning of the first page with the API. */
  async ofFront(): Promise<void> {
    const { tipHeight } = await this.#api('/stats/summary')
    const { circulatingSupply } = await this.#api('/stats/supply')
    const [next] = (await this.#api('/mempool/blocks')).items
    const page = await this.browsing.open('/')
    expect(await page.locator('.lead').innerText()).toContain(`Height ${String(tipHeight)} · since `)
    expect(await amounts(page, '.lead')).toEqual([circulatingSupply])
    // Of the maximum weight of the chain.
    const percent = ((100 * next.totalWeight) / 8_000_000).toFixed(1)
    expect(await texts(page, '.projected .full')).toEqual([`${percent}% full`])
    // The forecast changes with time too.
    await until('the fee rates are those of the API', async () => {
      const { blocks, minutes } = await this.#api('/fees/estimates')
      const within = (count: number) =>
        minutes.find((each: { minutes: number }) => each.minutes === count).feeRates.likely
      await page.reload()
      const shown = await texts(page, '.fees dd')
      const rates = [blocks[0].feeRates.likely, within(30), within(60)]
      return rates.every((rate, at) => shown[at] === `${String(rate)} sat/vB`)
    })
    await this.browsing.done(page)
  }

  /** Compares the maps of a block and of the next one with the API. @param height of a block with few transactions. */
  async ofMaps(height: number): Promise<void> {
    const path = `/block/${String(height)}`
    const cells = (page: Page) =>
      page
        .locator('.map a[href^="/tx/"]')
        .evaluateAll((all) => all.map((each) => each.getAttribute('href')!.slice(4)))
    const { items } = (await this.pipeline.get(`${path}/summary`)).body
    const { items: txs } = (await this.pipeline.get(`${path}/txs?limit=100`)).body
    const briefOf = ({ txid, fee, vsize, is_dilithium }: Record<string, unknown>) => ({
      txid,
      fee,
      vsize,
      is_dilithium,
    })
    expect(items.map(briefOf)).toEqual(txs.map(briefOf))
    for (const { txid, effective_fee_rate } of items.slice(1))
      expect((await this.pipeline.get(`/tx/${txid}/cpfp`)).body.effective_fee_rate).toBe(effective_fee_rate)
    const page = await this.browsing.open(path)
    const large = items.slice(1).map(({ txid }: { txid: string }) => txid)
    expect((await cells(page)).sort()).toEqual(large.sort())
    await page.locator(`.map a[href="/tx/${large[0]}"]`).click()
    expect(page.url()).toBe(`${this.pipeline.url}/tx/${large[0]}`)
    await this.browsing.done(page)
    const front = await this.browsing.open('/')
    await front.locator('.cube.projected a').last().click()
    expect(front.url()).toBe(`${this.pipeline.url}/mempool/block/1`)
    const [next] = (await this.pipeline.get('/mempool/blocks')).body.items
    const contents = (await this.pipeline.get('/mempool/blocks/txs')).body.items
    expect(contents).toHaveLength(next.txCount)
    expect(contents.reduce((sum: number, { vsize }: { vsize: number }) => sum + vsize, 0)).toBe(
      next.totalVsize,
    )
    expect((await cells(front)).sort()).toEqual(contents.map(({ txid }: { txid: string }) => txid).sort())
    await this.browsing.done(front)
    expect((await this.pipeline.get('/mempool/blocks/txs?block=30')).body).toEqual({ block: 30, items: [] })
    expect(await (await fetch(`${this.pipeline.url}/mempool/block/30`)).text()).toContain(
      'The mempool fills fewer blocks.',
    )
  }

  /** Compares the chart of the difficulty with the API, and moves its cursor. */
  async ofCharts(): Promise<void> {
    const { items } = (await this.pipeline.get('/mining/difficulty?windowMinutes=10080')).body
    const expected = items.map(({ difficulty }: { difficulty: string }) => difficulty)
    const csv = await (await fetch(`${this.pipeline.url}/charts/difficulty.csv?range=week`)).text()
    expect(
      csv
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(',')[1]),
    ).toEqual(expected)
    const fees = (await this.pipeline.get('/fees/history?limit=2016')).body.items
    const feesCsv = await (await fetch(`${this.pipeline.url}/charts/fees.csv?range=day`)).text()
    expect(feesCsv.trim().split('\n').slice(1)).toEqual(
      fees
        .map(({ height, total_fees }: Record<string, unknown>) => `${String(height)},${String(total_fees)}`)
        .reverse(),
    )
    const pathOf = (page: Page) => page.locator('#chart-difficulty .line-0 >> nth=0').getAttribute('d')
    const bare = await this.browsing.open('/mining', { ...DESK, javaScriptEnabled: false })
    await bare.locator('.spans a', { hasText: 'Week' }).click()
    expect(bare.url()).toBe(`${this.pipeline.url}/mining?range=week#spans`)
    const drawn = await pathOf(bare)
    expect(drawn?.split('L')).toHaveLength(items.length)
    await bare.context().close()
    const page = await this.browsing.open('/mining?range=week')
    expect(await pathOf(page)).toBe(drawn)
    const shown = page.locator('#chart-difficulty tbody td:last-child data')
    expect(await shown.evaluateAll((all) => all.map((each) => each.getAttribute('value')))).toEqual(expected)
    const height = page.locator('#chart-difficulty .legend dd').first().locator('data')
    await page.locator('#chart-difficulty .figures').hover({ position: { x: 1, y: 100 } })
    await until('the first block is shown', async () => (await height.getAttribute('value')) === '0')
    await page.locator('#chart-difficulty .figures').press('ArrowRight')
    expect(await height.getAttribute('value')).toBe('1')
    expect(await page.locator('#chart-difficulty .figures').getAttribute('aria-valuetext')).toMatch(/^1, \d/)
    await this.browsing.done(page)
  }

  /** Compares the pages of the state of the whole chain. */
  async ofChain(): Promise<void> {
    const supply = await this.#api('/stats/supply')
    const rich = await this.#api('/stats/richlist?limit=50')
    const [{ hash }] = (await this.#api('/blocks?limit=1')).items
    const { subsidy } = await this.#api(`/block/${hash}/stats`)
    const halved = String(BigInt(subsidy) / 2n)
    await this.#compare('/supply', {
      amounts: [
        ['.stats', [supply.circulatingSupply, supply.maxSupply, halved]],
        ['tbody tr[id^=a-]', rich.items.map(({ balance }: { balance: string }) => balance)],
      ],
    })
    const { pools } = await this.#api('/mining/pools?window=10000')
    await this.#compare('/mining?range=all', {
      digits: [
        [
          'tbody tr[id^="miner-"] td:nth-child(2)',
          pools.map(({ blockCount }: { blockCount: number }) => String(blockCount)),
        ],
      ],
    })
    const { items: ops } = await this.#api('/op-returns?limit=50')
    await this.#compare('/op-returns', {
      texts: [
        [
          '.payload',
          ops.map((item: { data_text: string | null; data_hex: string }) =>
            (item.data_text ?? item.data_hex).trim(),
          ),
        ],
      ],
    })
    const { items: large } = await this.#api('/whale-alerts?limit=50')
    await this.#compare('/large', {
      amounts: [['tbody tr', large.map(({ value }: { value: string }) => value)]],
    })
    const { items: reorgs } = await this.#api('/reorgs?limit=20')
    await this.#compare('/reorgs', {
      digits: [['tbody td:nth-child(2)', reorgs.map(({ depth }: { depth: number }) => String(depth))]],
    })
    const { items: waiting } = await this.#api('/mempool/txs?limit=50')
    await this.#compare('/mempool', {
      amounts: [['tbody tr[data-key^=m-]', waiting.map(({ value }: { value: string }) => value)]],
    })
    const { dilithiumTxPercent, dilithiumAddrPercent } = await this.#api('/stats/dilithium')
    const page = await this.browsing.open('/quantum')
    const shown = (await texts(page, '.stats dd')).slice(0, 2).map((text) => /^[\d.]+/.exec(text)?.[0])
    expect(shown).toEqual([dilithiumTxPercent, dilithiumAddrPercent])
    await this.browsing.done(page)
  }

  /**
   * Compares feeds, as Chromium parses them, with the API.
   * @param origin with which the explorer names itself.
   * @param label of the address.
   * @returns the ids of the entries of each feed by their URLs.
   */
  async ofFeeds(
    address: string,
    { origin, label }: { readonly origin: string; readonly label: string },
  ): Promise<readonly ReadonlyMap<string, string>[]> {
    const page = await this.browsing.open('/blocks')
    const feeds = [
      ['/blocks', '/blocks?limit=30', (item) => `/block/${item.hash}`, 'Blocks'],
      [`/address/${address}`, `/address/${address}/txs?limit=25`, (item) => `/tx/${item.txid}`, label],
      [
        '/large?minValue=50000000',
        '/whale-alerts?limit=50&minValue=50000000',
        (item) => `/tx/${item.txid}`,
        'Large transactions',
      ],
      ['/reorgs', '/reorgs?limit=20', (item) => `/block/${item.disconnected[0].hash}`, 'Reorganisations'],
      // eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers are read as a client would
    ] as const satisfies [string, string, (item: any) => string, string][]
    const ids: Map<string, string>[] = []
    for (const [path, read, urlOf, title] of feeds) {
      const { items } = await this.#api(read)
      expect(items.length, path).toBeGreaterThan(0)
      const times = await Promise.all(
        // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
        items.map(async (item: any) =>
          'timestamp' in item
            ? item.timestamp
            : (await this.#api(`/block/${item.connected.at(-1).hash}`)).timestamp,
        ),
      )
      const { entries, ...feed } = await this.#feed(page, path)
      expect(feed, path).toEqual({
        type: 'application/atom+xml; charset=utf-8',
        title: `${title} · Headwater`,
        updated: [...times].sort().at(-1),
        self: origin + path.replace(/(?=\?)|$/, '.atom'),
      })
      expect(entries.map(({ url, updated }) => [url, updated])).toEqual(
        items.map((item: unknown, index: number) => [origin + urlOf(item), times[index]]),
      )
      expect(new Set(entries.map(({ id }) => id)).size).toBe(items.length)
      ids.push(new Map(entries.map(({ url, id }) => [url, id])))
    }
    const german = await this.#feed(page, '/de/blocks')
    expect(german.entries.map(({ id }) => id)).toEqual([...ids[0]!.values()])
    await this.browsing.done(page)
    return ids
  }

  /** Compares what pages of a transaction, a block and an address show of themselves elsewhere with the API. */
  async ofPreviews(
    paths: readonly [tx: string, block: string, address: string],
    origin: string,
  ): Promise<void> {
    const [tx, block, summary, tip] = await Promise.all(
      [...paths, '/blocks/tip'].map((path) => this.#api(path)),
    )
    const coins = (base: string): string =>
      `${(Number(base) / 1e8).toLocaleString('en-GB', { maximumFractionDigits: 8 })} BTQ`
    const confirmations = tip.height - tx.block_height + 1
    const expected = [
      `Moves ${coins(tx.output_value)} for a fee of ${coins(tx.fee)}. ${confirmations} confirmations, in block ${tx.block_height}.`,
      `${block.tx_count} transactions, ${coins(block.total_fees)} in fees, mined by ${block.miner_label ?? block.miner_address}.`,
      `Balance ${coins(summary.balance)}, ${summary.tx_count} transactions.`,
    ]
    const page = await this.browsing.open(paths[0])
    for (const [index, path] of paths.entries()) {
      await page.goto(this.pipeline.url + path)
      const of = (property: string) => page.locator(`meta[property="og:${property}"]`).getAttribute('content')
      expect(await of('description')).toBe(expected[index])
      expect(await of('url')).toBe(origin + path)
      expect(await page.title()).toBe(`${await of('title')} · Headwater`)
      const image = (await of('image'))!
      expect(image.startsWith(`${origin}/`)).toBe(true)
      // The thread that draws starts with the first picture, which may exceed the deadline of an answer on a loaded machine.
      const picture = await until(`${image} is drawn`, async () => {
        const answer = await fetch(this.pipeline.url + image.slice(origin.length))
        return answer.status !== 503 && answer
      })
      expect(picture.headers.get('content-type')).toBe('image/png')
    }
    await this.browsing.done(page)
  }

  /** Returns the feed that a page links to. */
  async #feed(page: Page, path: string): Promise<ParsedFeed> {
    await page.goto(this.pipeline.url + path)
    return page.evaluate(async () => {
      const link = document.querySelector<HTMLLinkElement>('link[type="application/atom+xml"]')
      const response = await fetch(new URL(link?.href ?? '').pathname + location.search)
      const text = await response.text()
      const { documentElement: feed } = new DOMParser().parseFromString(text, 'application/xml')
      const textOf = (parent: Element, name: string) =>
        parent.querySelector(`:scope > ${name}`)?.textContent ?? ''
      return {
        type: response.headers.get('content-type'),
        title: textOf(feed, 'title'),
        updated: textOf(feed, 'updated'),
        self: feed.querySelector(':scope > link[rel=self]')?.getAttribute('href') ?? '',
        entries: [...feed.querySelectorAll('entry')].map((entry) => ({
          id: textOf(entry, 'id'),
          updated: textOf(entry, 'updated'),
          url: entry.querySelector('link')?.getAttribute('href') ?? '',
        })),
      }
    })
  }

  async #compare(
    path: string,
    expected: Partial<Record<keyof typeof READERS, readonly (readonly [string, readonly string[]])[]>>,
  ): Promise<void> {
    const page = await this.browsing.open(path)
    for (const [reader, parts] of Object.entries(expected))
      for (const [selector, figures] of parts)
        expect(await READERS[reader as keyof typeof READERS](page, selector), `${path} ${selector}`).toEqual(
          figures,
        )
    await this.browsing.done(page)
  }
}

const READERS = { amounts, digits, texts }
