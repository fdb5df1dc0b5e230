import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBareDocs, type BareDocs } from '../services/docs/bare-docs.js'
import { passage } from '../services/docs/fake-worker.js'
import { CHROMIUM } from '../harness/chromium.js'
import { IS_WHOLE } from '../harness/whole.js'

if (CHROMIUM === undefined)
  console.warn(
    '\n!!! No Chromium here: the pages are NOT tested in a browser. Install it, or name it by CHROMIUM.\n',
  )

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
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

/** A picture that is as dark as the theme. */
const FLOW =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"><style>rect{fill:#fff}@media (prefers-color-scheme:dark){rect{fill:#000}}</style><rect width="40" height="30"/></svg>'

describe.skipIf(CHROMIUM === undefined)('the pages in Chromium', () => {
  let docs: BareDocs
  let browser: Browser
  const errors: string[] = []

  beforeAll(async () => {
    const long = Array.from(
      { length: 30 },
      (_, index) => `## Part ${index}\n\n${'Words. '.repeat(80)}\n`,
    ).join('\n')
    const code = '## Installing the work\n\n```sh\nnpm start\n```\n'
    docs = await startBareDocs(
      { sourceUrl: 'https://example.org/content/' },
      {
        'index.md':
          '---\ntitle: Home\ndescription: What it is.\n---\n\n![How it flows](flow.svg)\n\n[Begin](guide/start.md)\n\nWelcome.\n\n![far](https://evil.example/x.png)\n',
        'parts.mdx': PARTS,
        'guide/start.md': `---\ntitle: Getting started\n---\n\n${long}\n${code}`,
      },
    )
    await writeFile(join(docs.folder, 'flow.svg'), FLOW)
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

  /** Opens the list of pages on a phone. By a click: on a busy machine a tap may take so long that it is a long press. */
  const openMenu = (page: Page): Promise<void> => page.click('.bar .menu')

  async function done(page: Page): Promise<void> {
    expect(errors).toEqual([])
    await page.context().close()
  }

  /** Returns the brightness of a pixel in the middle of the picture of the front page, as it is shown: 0 to 255. */
  async function brightness(page: Page): Promise<number> {
    const picture = (await page.locator('.hero img').screenshot()).toString('base64')
    const blank = await browser.newPage()
    const shade = await blank.evaluate<number>(`(async () => {
      const picture = await (await fetch('data:image/png;base64,${picture}')).blob()
      const bitmap = await createImageBitmap(picture)
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
      context.drawImage(bitmap, 0, 0)
      return context.getImageData(bitmap.width / 2, bitmap.height / 2, 1, 1).data[0]
    })()`)
    await blank.close()
    return shade
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
    await openMenu(page)
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
    await page.waitForURL(`${docs.url}/guide/start#first`)
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
    expect(await page.locator('figcaption .title').textContent()).toBe('a.ts')
    expect(await page.locator('figcaption .language').isVisible()).toBe(true)
    expect(await page.locator('.code button').isVisible()).toBe(false)
    await done(page)
  })

  it('copy code by a button, and open the tab of the address', async () => {
    const page = await open('/parts#in-the-second', {
      ...DESK,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    expect(await page.locator('#in-the-second').isVisible()).toBe(true)
    expect(await page.locator('.code button').textContent()).toBe('Copy')
    await page.locator('.code button').focus()
    await page.keyboard.press('Enter')
    await page.getByText('Copied', { exact: true }).waitFor()
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
    await openMenu(page)
    const link = page.locator('nav.pages a', { hasText: LONG_WORD })
    const lines = await link.evaluate((element) => element.clientHeight)
    const one = await page
      .locator('nav.pages a', { hasText: 'Home' })
      .evaluate((element) => element.clientHeight)
    expect(lines).toBe(one)
    await done(page)
  })

  it('have a picture on the front page that is dark in the dark theme, whatever the system is', async () => {
    const page = await open('/')
    expect(await page.locator('.hero img').getAttribute('alt')).toBe('How it flows')
    expect(await page.evaluate('document.querySelector(".hero img").naturalWidth > 0')).toBe(true)
    const light = await brightness(page)
    await page.click('.bar .theme')
    expect(light - (await brightness(page))).toBeGreaterThan(100)
    await done(page)
  })

  it('begin the assistant with questions that the pages answer; the answer keeps its question in view and says what it quotes', async () => {
    docs.worker.passages = [
      passage({ markdown: 'Long. '.repeat(900) }),
      passage({ pageUrl: '/parts', headingId: '' }),
    ]
    const page = await open('/guide/start')
    await page.click('.bar .ask')
    expect(await page.locator('.hint p').textContent()).toMatch(/^Answers quote these pages word for word/)
    await page.keyboard.press('Shift+Tab')
    await page.locator('.hint button', { hasText: 'How do I install the work?' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.sources a').nth(1).waitFor()
    expect(await page.locator('.mine').textContent()).toBe('How do I install the work?')
    const inView =
      "(() => { const log = document.querySelector('.messages').getBoundingClientRect(); const mine = document.querySelector('.mine').getBoundingClientRect(); return mine.top >= log.top && mine.bottom <= log.bottom })()"
    expect(await page.evaluate(inView)).toBe(true)
    expect(await page.locator('.theirs p', { hasText: 'Quoted from' }).first().textContent()).toBe(
      'Quoted from Getting started › First steps [1]:',
    )
    const links = await page
      .locator('.theirs :is(strong a, .cite)')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    expect(links).toEqual(['/guide/start#first', '/guide/start#first', '/parts', '/parts'])
    await page.click('.again')
    expect(await page.locator('.hint button').first().isVisible()).toBe(true)
    docs.worker.passages = [passage()]
    await done(page)
  })

  it('show the whole name on a phone, with the link to the explorer in the list of pages', async () => {
    const own = await startBareDocs(
      { explorerUrl: 'https://explorer.example/' },
      { 'index.md': '# Headwater\n' },
    )
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
    const page = await (await browser.newContext(phone)).newPage()
    await page.goto(own.url)
    const isWhole =
      "(() => { const { scrollWidth, clientWidth } = document.querySelector('.brand span'); return scrollWidth <= clientWidth })()"
    expect(await page.evaluate(isWhole)).toBe(true)
    expect(await page.locator('.bar .site').isVisible()).toBe(false)
    await openMenu(page)
    expect(await page.locator('.pages .site').isVisible()).toBe(true)
    await page.context().close()
    await own.close()
  })

  it('show code wider than text on a wide screen', async () => {
    const page = await open('/guide/start', { viewport: { width: 1600, height: 900 } })
    const widthOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => element.clientWidth)
    expect(await widthOf('.prose > .code')).toBeGreaterThan(1.15 * (await widthOf('.prose > p')))
    await done(page)
  })

  it('are small, and have no serious finding of axe on a phone and a desk, in either theme', async () => {
    for (const path of ['/', '/parts', '/guide/start', '/nowhere'])
      for (const width of IS_WHOLE || path === '/parts' ? [390, 1280] : [390]) {
        const page = await open(path, { viewport: { width, height: 844 }, reducedMotion: 'reduce' })
        if (path === '/nowhere') errors.length = 0
        expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(width)
        await page.click('.bar .ask')
        await page.locator('.hint button, textarea').first().waitFor()
        await page.evaluate(AXE)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const findings = await page.evaluate<string[]>(
            // A theme is another set of colours.
            `axe.run({ ${colorScheme === 'dark' ? "runOnly: ['color-contrast'], " : ''}resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
          )
          expect(findings, `${path} ${String(width)} ${colorScheme}`).toEqual([])
        }
        await done(page)
      }
  })

  it('highlight the current heading in the contents', async () => {
    const page = await open('/guide/start')
    expect(await page.locator('.toc [aria-current]').textContent()).toBe('Part 0')
    await page.evaluate("document.getElementById('part-20').scrollIntoView({ behavior: 'instant' })")
    await page.locator('.toc [aria-current]', { hasText: 'Part 20' }).waitFor()
    await done(page)
  })
})
