import { LRUCache } from 'lru-cache'
import type { Page } from '../../../pipelines/content/page.js'
import type { Logger } from '../../../pipelines/logger.js'
import { BoundedThread, ContentTooLarge } from '../../../pipelines/worker-thread.js'
import { html, Html } from '../../design/html.js'
import type { Rendered } from './render.js'

const MAX_BYTES = 8 * 2 ** 20

/** A cache of the HTML of pages, which is the same for all clients and addresses of the site. */
export class Bodies {
  readonly #logger: Logger
  readonly #thread = new BoundedThread<Rendered, string>('services/docs/pages/render-thread')
  readonly #cache = new LRUCache<string, Html, Page>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ text }) => 2 * text.length + 100,
    fetchMethod: (_hash, _old, { context }) => this.#render(context),
  })

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Returns the HTML of a page. If rendering takes too much memory or time, that is its Markdown as plain text. */
  of(page: Page): Promise<Html> {
    return this.#cache.forceFetch(page.hash, { context: page })
  }

  close(): void {
    this.#thread.close()
  }

  async #render(page: Page): Promise<Html> {
    const { file, url, markdown, marked, title, toc } = page
    try {
      return new Html(await this.#thread.run({ file, url, markdown, marked, title, toc }))
    } catch (error) {
      if (!(error instanceof ContentTooLarge)) throw error
      this.#logger.warn({ code: error.code, file }, `shown as plain Markdown: ${error.message}`)
      return html`<pre tabindex="0">${markdown}</pre>`
    }
  }
}
