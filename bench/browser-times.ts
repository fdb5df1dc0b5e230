import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, CDPSession, Page } from 'playwright-core'

/** The factor by which the browser's processor is slowed. */
const SLOWDOWN = 4
/** Tasks while the page loads are not those of live updates. */
const LOADED_MS = 3_000
/** The number of interactions, after the time in which tasks are measured: theirs are part of the interaction to next paint. */
const INTERACTIONS = 6

/** The behaviour of a page in the browser. */
export interface PageTimes {
  readonly firstPaintMs: number
  /** From an interaction to the next paint, the longest one. */
  readonly interactionMs: number
  /** The longest task of live updates, after the page was loaded. */
  readonly longestTaskMs: number
  /** The sum of layout shifts. */
  readonly shift: number
  /** Bytes that were transferred to show the page for the first time. */
  readonly bytes: number
  readonly scriptBytes: number
  /** The paths that the page requested. */
  readonly paths: ReadonlySet<string>
}

const OBSERVE = `window.seen = { shift: 0, task: 0, interaction: 0 }
new PerformanceObserver((list) => { for (const each of list.getEntries()) if (!each.hadRecentInput) seen.shift += each.value })
  .observe({ type: 'layout-shift', buffered: true })
new PerformanceObserver((list) => { for (const each of list.getEntries()) if (each.startTime > ${String(LOADED_MS)}) seen.task = Math.max(seen.task, each.duration) })
  .observe({ type: 'longtask', buffered: true })
new PerformanceObserver((list) => { for (const each of list.getEntries()) if (each.interactionId > 0) seen.interaction = Math.max(seen.interaction, each.duration) })
  .observe({ type: 'event', durationThreshold: 16 })`

interface Seen {
  readonly shift: number
  readonly interaction: number
}

/** Not polled with `waitForFunction`, whose later looks evaluate text, which the pages' Content-Security-Policy refuses. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => { for (const each of list.getEntriesByName('first-contentful-paint')) resolve(each.startTime) })
    .observe({ type: 'paint', buffered: true })
})`

/** Opens a page on a slowed processor until it is loaded and painted. @returns the first contentful paint in ms. */
export function measurePaint(browser: Browser, origin: string, path: string): Promise<number> {
  return onSlowProcessor(browser, async (page) => {
    await page.goto(origin + path, { waitUntil: 'load' })
    return page.evaluate<number>(FIRST_PAINT)
  })
}

async function onSlowProcessor<T>(
  browser: Browser,
  measure: (page: Page, session: CDPSession) => Promise<T>,
): Promise<T> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  try {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
    return await measure(page, session)
  } finally {
    await context.close()
  }
}

/** Opens a page on a slowed processor, watches it for some seconds, then uses it, and returns how it behaved. */
export function measurePage(
  browser: Browser,
  origin: string,
  path: string,
  seconds: number,
): Promise<PageTimes> {
  return onSlowProcessor(browser, async (page, session) => {
    await session.send('Network.enable')
    const requests = new Map<string, { readonly path: string; readonly isScript: boolean }>()
    let isLoaded = false
    let [bytes, scriptBytes] = [0, 0]
    session.on('Network.responseReceived', ({ requestId, type, response }) => {
      requests.set(requestId, { path: new URL(response.url).pathname, isScript: type === 'Script' })
    })
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (isLoaded) return
      bytes += encodedDataLength
      if (requests.get(requestId)?.isScript === true) scriptBytes += encodedDataLength
    })
    await page.addInitScript(OBSERVE)
    await page.goto(origin + path, { waitUntil: 'load' })
    isLoaded = true
    await sleep(LOADED_MS + seconds * 1000)
    const longestTaskMs = await page.evaluate<number>('seen.task')
    for (let count = 0; count < INTERACTIONS; count++) {
      await page.click('.bar .theme')
      await page.click('.bar .find')
      await page.keyboard.press('Escape')
      await sleep(500)
    }
    const firstPaintMs = await page.evaluate<number>(FIRST_PAINT)
    const { shift, interaction } = await page.evaluate<Seen>('seen')
    const paths = new Set([...requests.values()].map((request) => request.path))
    return { firstPaintMs, interactionMs: interaction, longestTaskMs, shift, bytes, scriptBytes, paths }
  })
}
