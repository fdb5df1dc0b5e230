import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBareDocs, type BareDocs } from '../services/docs/bare-docs.js'
import { passage } from '../services/docs/fake-worker.js'
import { CHROMIUM } from '../harness/chromium.js'

if (CHROMIUM === undefined)
  console.warn(
    '\n!!! No Chromium here: the pages are NOT tested in a browser. Install it, or name it by CHROMIUM.\n',
  )

const LONG_WORD = 'experimental_createProviderRegistryWithDefaultSettingsAndMore'

const PARTS = `---
title: ${LONG_WORD}
---

<Callout type="warning" title="Mind this">Careful.</Callout>

<Tabs items={["npm", "pnpm"]}>
  <Tab>First words.</Tab>
  <Tab>
  ### In the second

  Second words.
  </Tab>
</Tabs>

<Accordion title="More of it">Hidden words.</Accordion>

<CardGroup><Card title="Start" href="/guide/start">Begin.</Card><Card title="Home" href="/">All.</Card></CardGroup>

<Steps><Step title="One">Do.</Step><Step title="Two">End.</Step></Steps>

\`\`\`ts title="a.ts" {2}
let one
let two
\`\`\`
`

describe.skipIf(CHROMIUM === undefined)('the pages in Chromium', () => {
  let docs: BareDocs
  let browser: Browser
  const errors: string[] = []

  beforeAll(async () => {
    const long = Array.from(
      { length: 30 },
      (_, index) => `## Part ${index}\n\n${'Words. '.repeat(80)}\n`,
    ).join('\n')
    docs = await startBareDocs(
      { sourceUrl: 'https://example.org/content/' },
      {
        'index.md': '---\ntitle: Home\n---\n\nWelcome.\n\n![far](https://evil.example/x.png)\n',
        'parts.mdx': PARTS,
        'guide/start.md': `---\ntitle: Getting started\n---\n\n${long}`,
      },
    )
    docs.worker.passages = [passage()]
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
  })

  afterAll(async () => {
    await browser.close()
    await docs.close()
  })

  const DESK = { viewport: { width: 1280, height: 800 } }

  /** A page in a browser of its own, which records every request to another host and every script error. */
  async function open(path: string, options: BrowserContextOptions = DESK): Promise<Page> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    errors.length = 0
    page.on('request', (request) => {
      if (!request.url().startsWith(docs.url)) errors.push(`asked ${request.url()}`)
    })
    page.on('pageerror', ({ message }) => errors.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    await page.goto(docs.url + path, { waitUntil: 'networkidle' })
    return page
  }

  async function done(page: Page): Promise<void> {
    expect(errors).toEqual([])
    await page.context().close()
  }

  const background = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')

  it('are searched by keyboard, with marks; Enter opens the selected one', async () => {
    const page = await open('/')
    await page.keyboard.press('/')
    await page.keyboard.type('words')
    await page.locator('.hit').first().waitFor()
    expect(await page.locator('.hit mark').first().textContent()).toBe('words')
    expect(await page.locator('.hit').first().textContent()).toContain('A <b> & words!')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${docs.url}/guide/start#first`)
    await page.keyboard.press('Control+k')
    expect(await page.locator('dialog.search').isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    expect(await page.locator('dialog.search').isVisible()).toBe(false)
    await done(page)
  })

  it('are reached by Tab alone, starting with the content', async () => {
    const page = await open('/guide/start')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('MAIN')
    await done(page)
  })

  it('are dark if the system is, and as the reader chooses from then on', async () => {
    const light = await open('/')
    const paper = await background(light)
    await done(light)
    const page = await open('/', { ...DESK, colorScheme: 'dark' })
    expect(await background(page)).not.toBe(paper)
    await page.click('.bar .theme')
    expect(await background(page)).toBe(paper)
    await page.reload()
    expect(await background(page)).toBe(paper)
    await done(page)
  })

  it('fit a phone: nothing is wider than the screen, the list of pages is behind a button', async () => {
    const page = await open('/guide/start', {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(await page.locator('nav.pages').isVisible()).toBe(false)
    await page.tap('.bar .menu')
    await page.locator('nav.pages a', { hasText: 'Home' }).click()
    await page.waitForURL(`${docs.url}/`)
    await done(page)
  })

  it('are copied as Markdown, opened in assistants, and lead to their source', async () => {
    const page = await open('/guide/start', { ...DESK, permissions: ['clipboard-read', 'clipboard-write'] })
    await page.click('.copy')
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await (await docs.get('/llms.mdx/guide/start')).text(),
    )
    const links = await page
      .locator('.open a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))
    expect(links.map((link) => new URL(link).host)).toEqual(['chatgpt.com', 'claude.ai'])
    for (const link of links) expect(new URL(link).searchParams.get('q')).toContain(`${docs.url}/guide/start`)
    expect(await page.locator('a.source').getAttribute('href')).toBe(
      'https://example.org/content/guide/start.md',
    )
    await done(page)
  })

  it('have an assistant that streams its answer and names its sources', async () => {
    const page = await open('/')
    await page.click('.bar .ask')
    await page.keyboard.type('How do I start <b>it</b>?')
    await page.keyboard.press('Enter')
    await page.locator('.sources a').waitFor()
    expect(await page.locator('.mine').textContent()).toBe('How do I start <b>it</b>?')
    expect(await page.locator('.theirs code').textContent()).toBe('npm start')
    await page.click('.sources a')
    await page.waitForURL(`${docs.url}/guide/start`)
    await done(page)
  })

  it('show tabs, details and titles of code without a script', async () => {
    const page = await open('/parts', { ...DESK, javaScriptEnabled: false })
    const panel = page.locator('.panel')
    expect(await panel.nth(0).isVisible()).toBe(true)
    expect(await panel.nth(1).isVisible()).toBe(false)
    await page.getByText('pnpm', { exact: true }).click()
    expect(await panel.nth(0).isVisible()).toBe(false)
    expect(await panel.nth(1).isVisible()).toBe(true)
    await page.getByText('More of it').click()
    expect(await page.getByText('Hidden words').isVisible()).toBe(true)
    expect(await page.locator('figcaption').textContent()).toBe('a.ts')
    expect(await page.locator('.copies').count()).toBe(0)
    await done(page)
  })

  it('copy code by a button, and open the tab of the address', async () => {
    const page = await open('/parts#in-the-second', {
      ...DESK,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    expect(await page.locator('#in-the-second').isVisible()).toBe(true)
    await page.locator('.code').hover()
    await page.locator('.code button').click()
    await page.locator('.code button[aria-label=Copied]').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('let one\nlet two')
    await done(page)
  })

  it('never break a word of the navigation in the middle, and fit a phone with all parts', async () => {
    const page = await open('/parts', {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
    })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await page.tap('.bar .menu')
    const link = page.locator('nav.pages a', { hasText: LONG_WORD })
    const lines = await link.evaluate((element) => element.clientHeight)
    const one = await page
      .locator('nav.pages a', { hasText: 'Home' })
      .evaluate((element) => element.clientHeight)
    expect(lines).toBe(one)
    await done(page)
  })

  it('highlight the current heading in the contents', async () => {
    const page = await open('/guide/start')
    expect(await page.locator('.toc [aria-current]').textContent()).toBe('Part 0')
    await page.evaluate("document.getElementById('part-20').scrollIntoView({ behavior: 'instant' })")
    await page.locator('.toc [aria-current]', { hasText: 'Part 20' }).waitFor()
    await done(page)
  })
})
