import type { Content } from '../../pipelines/content/store.js'
import { Retrieval, type RetrievalOptions } from '../../pipelines/retrieval/retrieval.js'
import { collectGarbage } from './garbage.js'
import type { Indexed } from './handlers.js'

/** The first searches do not wait for the collection of what reading has left. */
const GARBAGE_AFTER_MS = 5_000

/** The content, and its index as soon as all pages are read. */
export class Worker implements Indexed {
  readonly content: Content
  /** Resolves when searches are answered; rejects with an error of this program. */
  readonly opened: Promise<void>
  retrieval: Retrieval | undefined

  constructor(content: Content, options: Omit<RetrievalOptions, 'library'>) {
    this.content = content
    this.opened = this.#open(options)
  }

  /** Stops when the content is closed. */
  async close(): Promise<void> {
    await this.opened
    await this.retrieval?.close()
  }

  async #open(options: Omit<RetrievalOptions, 'library'>): Promise<void> {
    await this.content.complete
    if (!this.content.isComplete) return
    this.retrieval = await Retrieval.open({ ...options, library: this.content })
    setTimeout(collectGarbage, GARBAGE_AFTER_MS).unref()
  }
}
