import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { CHROMIUM } from '../test/harness/chromium.js'
import { startBareServer, storedAnswers } from './bare-server.js'
import { measurePage, measurePaint, type PageTimes } from './browser-times.js'
import { loadTool } from './load-tool.js'
import { controlNode } from './node-control.js'
import { type Stack, startStack, txidsAt, withProcesses } from './processes.js'
import { comparison, median, repeated } from './repetitions.js'
import type { Figure } from './report.js'

export interface PagesOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly repetitions: number
  /** Seconds of each load. */
  readonly seconds: number
}

const CONNECTIONS = 64
/** A longer load would need more transactions than the chain has: each is requested once. */
const FRESH_SECONDS = 1
const ACCEPT = 'text/html'
/** Transactions that enter the mempool per second while the first page is open. */
const EVENTS_PER_SECOND = 200
/** First paints of the page and of its copy, alternately: single ones differ several times on two cores that the browser fills. */
const PAINTS = 5
/** Bars of the issue: layout shift, the longest task in ms, bytes of a first page and of its scripts, and ratios to a static copy. */
const MAX = { shift: 0.02, taskMs: 50, bytes: 40_000, scriptBytes: 30_000, ratio: 1.5 }

/**
 * Measures the explorer's pages: cached ones against a bare uWebSockets handler that sends the same bytes, pages of transactions
 * that no cache has against the JSON of others, and the first page in Chromium with the processor slowed four times against a static
 * copy of it: its first paints, and its behaviour while 200 transactions per second arrive.
 */
export function pages(options: PagesOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const stack = await startStack(start, folder, { ...options, mix: 'cheap' })
    const origin = new URL(stack.url).origin
    const load = loadTool(folder)
    const txids = await allTxids(stack, options.blocks)
    const cached = ['/blocks', `/block/${String(options.blocks - 5)}`, `/tx/${txids[0] ?? ''}`]
    const figures = await repeated(options.repetitions, async () => {
      const requests = { once: false, connections: CONNECTIONS, seconds: options.seconds, accept: ACCEPT }
      const bareServer = await startBareServer(await storedAnswers(origin, cached, ACCEPT))
      const served = await load({ url: origin, paths: cached, ...requests })
      const bare = await load({ url: bareServer.url, paths: cached, ...requests })
      await bareServer.close()
      const half = Math.floor(txids.length / options.repetitions / 2)
      const fresh = { ...requests, once: true, seconds: FRESH_SECONDS }
      const asPages = txids.splice(1, half).map((txid) => `/tx/${txid}`)
      const asJson = txids.splice(1, half).map((txid) => `/api/v1/tx/${txid}`)
      const page = await load({ url: origin, paths: asPages, ...fresh })
      const json = await load({ url: origin, paths: asJson, ...fresh })
      return [
        comparison('cached_pages', 'requests/s', served.requestsPerSecond, bare.requestsPerSecond),
        comparison('uncached_transactions', 'requests/s', page.requestsPerSecond, json.requestsPerSecond),
      ]
    })
    return [...figures, ...(await inBrowser(stack, origin, options))]
  })
}

/** Returns the txids of all blocks. */
async function allTxids({ url }: Stack, blocks: number): Promise<string[]> {
  const txids: string[] = []
  for (let height = 1; height <= blocks; height++) txids.push(...(await txidsAt(url, height)))
  return txids
}

async function inBrowser(
  stack: Stack,
  origin: string,
  { repetitions, seconds }: PagesOptions,
): Promise<Figure[]> {
  if (CHROMIUM === undefined) throw new Error('no Chromium is installed: name it by CHROMIUM')
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  const arriving = new AbortController()
  try {
    // The first page of a browser also waits for its processes.
    const { paths } = await measurePage(browser, origin, '/', 0)
    const files = [...paths].filter((path) => !path.startsWith('/ws'))
    const copied = async <T>(measure: (url: string) => Promise<T>): Promise<T> => {
      const copy = await startBareServer(await storedAnswers(origin, files, ACCEPT))
      return measure(copy.url).finally(() => copy.close())
    }
    const paints = await repeated(repetitions, () =>
      copied(async (copy) => {
        const [live, fixed]: [number[], number[]] = [[], []]
        for (let count = 0; count < PAINTS; count++) {
          live.push(await measurePaint(browser, origin, '/'))
          fixed.push(await measurePaint(browser, copy, '/'))
        }
        const paint = comparison('first_contentful_paint', 'ms', median(live), median(fixed))
        return [{ ...paint, maxRatio: MAX.ratio }]
      }),
    )
    void enterTransactions(stack, arriving.signal)
    const updates = await repeated(repetitions, async () => {
      const live = await measurePage(browser, origin, '/', seconds)
      const fixed = await copied((copy) => measurePage(browser, copy, '/', 2))
      return figuresOf(live, fixed)
    })
    return [...paints, ...updates]
  } finally {
    arriving.abort()
    await browser.close()
  }
}

/** Adds transactions to the node's mempool every second. */
async function enterTransactions({ nodeUrl }: Stack, signal: AbortSignal): Promise<void> {
  const path = `pool?enter=${String(EVENTS_PER_SECOND)}`
  for (; !signal.aborted; await sleep(1_000)) await controlNode(nodeUrl, path).catch(() => undefined)
}

function figuresOf(live: PageTimes, fixed: PageTimes): Figure[] {
  const name = 'first_contentful_paint_beside_arrivals'
  const interaction = comparison('interaction_to_next_paint', 'ms', live.interactionMs, fixed.interactionMs)
  return [
    { name: 'layout_shift', value: live.shift, unit: '', most: MAX.shift },
    { name: 'longest_task', value: live.longestTaskMs, unit: 'ms', most: MAX.taskMs },
    comparison(name, 'ms', live.firstPaintMs, fixed.firstPaintMs),
    { ...interaction, maxRatio: MAX.ratio },
    { name: 'first_page', value: live.bytes, unit: 'bytes', most: MAX.bytes },
    { name: 'first_page_scripts', value: live.scriptBytes, unit: 'bytes', most: MAX.scriptBytes },
  ]
}
