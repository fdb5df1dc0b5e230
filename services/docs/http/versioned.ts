import { LRUCache } from 'lru-cache'
import type { Content } from '../../../pipelines/content/store.js'
import { etagOf } from './reply.js'

const MAX_BYTES = 8 * 2 ** 20

interface Kept {
  readonly body: string
  readonly etag: string
}

/** A cache of answers that are valid until the content changes. */
export class Versioned {
  readonly #content: Content
  readonly #cache = new LRUCache<string, Kept, () => string>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }, key) => 2 * (body.length + key.length) + 100,
    memoMethod: (_key, _stale, { context: make }) => {
      const body = make()
      return { body, etag: etagOf(body) }
    },
  })
  #version = ''

  constructor(content: Content) {
    this.#content = content
  }

  /** Returns the answer with this key for the current content, and its ETag; makes it if it is not cached. */
  take(key: string, make: () => string): [body: string, headers: { etag: string }] {
    if (this.#version !== this.#content.version) {
      this.#version = this.#content.version
      this.#cache.clear()
    }
    const { body, etag } = this.#cache.memo(key, { context: make })
    return [body, { etag }]
  }
}
