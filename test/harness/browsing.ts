import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'
import { CHROMIUM } from './chromium.js'

export const DESK_SIZE = { width: 1280, height: 900 }
export const DESK: BrowserContextOptions = { viewport: DESK_SIZE }
export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
}

/** Opens pages of an explorer as readers do. */
export class Browsing {
  readonly #errors: string[] = []
  /** The context of pages that are opened at a desk: a new context for each takes a process of Chromium, and loads all files again. */
  #desk: BrowserContext | undefined

  private constructor(
    readonly browser: Browser,
    private readonly url: string,
  ) {}

  static async start(url: string): Promise<Browsing> {
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
    return new Browsing(browser, url)
  }

  /**
   * Opens a page, and records every request to another host and every error of a script.
   * @param prepare called before the page is loaded.
   */
  async open(
    path: string,
    options: BrowserContextOptions = DESK,
    base = this.url,
    prepare?: (page: Page) => Promise<void>,
  ): Promise<Page> {
    const page = await (await this.#contextFor(options)).newPage()
    const errors = this.#errors
    errors.length = 0
    page.on('request', (request) => {
      if (!request.url().startsWith(base)) errors.push(`requested ${request.url()}`)
    })
    page.on('pageerror', ({ message }) => errors.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/404|ERR_CONNECTION|WebSocket/.test(message.text()))
        errors.push(message.text())
    })
    await prepare?.(page)
    await page.goto(base + path)
    return page
  }

  /** Closes a page. @throws if it did what no page may do, or a text of the chain ran as a script (`window.hacked`). */
  async done(page: Page): Promise<void> {
    expect(this.#errors).toEqual([])
    expect(await page.evaluate('window.hacked')).toBeUndefined()
    if (page.context() === this.#desk) await page.close()
    else await page.context().close()
  }

  /** Returns the context of all pages with the default options, and a new one for others. */
  async #contextFor(options: BrowserContextOptions): Promise<BrowserContext> {
    if (options !== DESK) return this.browser.newContext(options)
    return (this.#desk ??= await this.browser.newContext(DESK))
  }

  async close(): Promise<void> {
    await this.browser.close()
  }
}

/** Returns the amounts of a part of a page in base units. */
export const amounts = (page: Page, selector: string): Promise<string[]> =>
  page
    .locator(`${selector} data.amount`)
    .evaluateAll((all) => all.map((each) => each.getAttribute('value') ?? ''))

/** Returns the digits of the figures of a part of a page. */
export const digits = (page: Page, selector: string): Promise<string[]> =>
  page.locator(selector).evaluateAll((all) => all.map((each) => each.textContent.replace(/\D/g, '')))

export const texts = (page: Page, selector: string): Promise<string[]> =>
  page.locator(selector).evaluateAll((all) => all.map((each) => each.textContent.trim()))
