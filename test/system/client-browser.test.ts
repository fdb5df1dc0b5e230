import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type * as Client from '../../services/client/client.js'
import { Simnode } from '../../services/simnode/node.js'
import { CHROMIUM } from '../harness/chromium.js'
import { Pipeline } from '../harness/pipeline.js'

const BUILT = resolve(import.meta.dirname, '../../dist-client')

if (CHROMIUM === undefined)
  console.warn(
    '\n!!! No Chromium here: the client is NOT tested in a browser. Install it, or name it by CHROMIUM.\n',
  )

/** Names in the page: the client's module, and the explorer of the test. */
declare const client: typeof Client
declare const explorer: Client.ExplorerClient

describe.skipIf(CHROMIUM === undefined)('the client in Chromium', () => {
  const node = new Simnode({ port: 0, blocks: 30, txsPerBlock: 3, blockIntervalMs: 0 })
  let pipeline: Pipeline
  let site: Server
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    await node.start()
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    await pipeline.level({ tip: node.chain.tip.hash })
    // The page has another origin than the explorer, as the pages of its users have.
    site = createServer((request, response) => {
      const path = resolve(BUILT, `.${request.url ?? '/'}`)
      if (!path.endsWith('.js') || !existsSync(path)) {
        response.writeHead(200, { 'content-type': 'text/html' })
        response.end('<!doctype html><title>client</title>')
        return
      }
      response.writeHead(200, { 'content-type': 'text/javascript' })
      void readFile(path).then((text) => response.end(text))
    })
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
    page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${String((site.address() as AddressInfo).port)}/`)
    const start = `import * as client from '/client.js'
      Object.assign(globalThis, { client, explorer: client.explorerClient('${pipeline.url}') })`
    await page.addScriptTag({ type: 'module', content: start })
    await page.waitForFunction('globalThis.explorer !== undefined')
  })
  afterAll(async () => {
    await browser.close()
    site.close()
    await pipeline.close()
    await node.close()
  })

  it('requests reads, with their state and their errors', async () => {
    const { height, hash } = node.chain.tip
    const seen = await page.evaluate(async (most) => {
      const tip = await explorer.tip({}, { minHeight: most })
      const missing = await explorer.transaction({ txid: 'ff'.repeat(32) }).catch((error: unknown) => error)
      const { code, status } = missing as Client.ExplorerError
      return { tip: tip.hash, state: client.stateOf(tip), code, status }
    }, height)
    expect(seen).toEqual({ tip: hash, state: { height, tip: hash }, code: 'HW_NOT_FOUND', status: 404 })
  })

  it('iterates over pages', async () => {
    const heights = await page.evaluate(async () => {
      const heights: number[] = []
      for await (const block of explorer.all.blocks({ limit: 7 })) heights.push(block.height)
      return heights
    })
    const { height } = node.chain.tip
    expect(heights).toEqual(Array.from({ length: height + 1 }, (_, index) => height - index))
  })

  it('follows the feed by the WebSocket of the browser', async () => {
    const received = page.evaluate(async () => {
      const heights: number[] = []
      for await (const event of explorer.events('blocks', { since: { blocks: 1 } })) {
        if (event.resync === true) throw new Error('resync')
        heights.push(event.data.height)
        if (heights.length === 5) break
      }
      return heights
    })
    const heights = await received
    expect(heights).toEqual(Array.from({ length: 5 }, (_, index) => (heights[0] ?? 0) + index))
  })

  it('stops when a signal aborts', async () => {
    const name = await page.evaluate(async () => {
      const error = await explorer
        .supply({}, { signal: AbortSignal.abort() })
        .catch((reason: unknown) => reason)
      return (error as Error).name
    })
    expect(name).toBe('AbortError')
  })
})
