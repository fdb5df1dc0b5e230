import { codeVersion } from '../../code-version.js'
import { BoundedThread } from '../../worker-thread.js'
import type { DocumentJob } from '../document-thread.js'
import { type DraftCache, keyOf, type Parsed } from './draft-cache.js'
import { ContentError, type Draft } from '../page.js'

/** Parses files in a thread of bounded memory and time. With a cache, each version of a file is parsed once by all processes that share it. */
export class Parser {
  readonly #cache: DraftCache | undefined
  readonly #version = codeVersion('content/')
  readonly #thread = new BoundedThread<DocumentJob, Draft>('pipelines/content/document-thread', [
    ContentError,
  ])

  constructor(cache?: DraftCache) {
    this.#cache = cache
  }

  /** Returns the key of a file in the cache. A draft depends on its job and on the code, and on nothing else. */
  key(job: DocumentJob): string {
    return keyOf(this.#version, job)
  }

  /** Returns the result of a job from the cache; undefined if it is not there. */
  cached(key: string): Parsed | undefined {
    return this.#cache?.get(key)
  }

  /**
   * Parses a file and caches the result. Whether a file is too large to parse is not cached, because it also depends on the machine.
   * @param key of the job, as `key` returns it.
   * @returns undefined if another process is parsing it.
   * @throws ContentTooLarge
   */
  async parse(job: DocumentJob, key: string): Promise<Parsed | undefined> {
    if (this.#cache === undefined) return this.#parsed(job)
    const release = await this.#cache.claim(key)
    if (release === undefined) return undefined
    try {
      const cached = this.#cache.get(key)
      if (cached !== undefined) return cached
      const parsed = await this.#parsed(job)
      await this.#cache.put(key, parsed)
      return parsed
    } finally {
      await release()
    }
  }

  close(): void {
    this.#thread.close()
  }

  async #parsed(job: DocumentJob): Promise<Parsed> {
    try {
      return { draft: await this.#thread.run(job) }
    } catch (error) {
      if (!(error instanceof ContentError)) throw error
      return { error: { line: error.line, message: error.message } }
    }
  }
}
