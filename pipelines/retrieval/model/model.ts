import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../errors.js'
import type { Logger } from '../../logger.js'
import { Embedder } from './embedder.js'
import { ModelUnavailable, type ModelFiles, modelIn } from './files.js'
import { fetchedModel, fetchModel, type Route } from './routes.js'

export interface ModelOptions {
  /** Folder with the model of the operator; if set, nothing is fetched. */
  readonly folder: string | undefined
  /** Folder in which a fetched model is stored. */
  readonly cache: string
  readonly routes: readonly Route[]
  readonly logger: Logger
  readonly backoff?: Backoff
}

/** Computes vectors of length 1 of texts. Both methods reject with ModelLost if the model is unavailable. */
export interface Embeds {
  question(text: string): Promise<Float32Array>
  passage(text: string): Promise<Float32Array>
}

/** A model that can be used, and its identity. */
export interface LoadedModel {
  readonly embedder: Embeds
  readonly checksum: string
}

/** The source of a model that may be unavailable at times. */
export interface ModelSource {
  /** Undefined if no model is loaded. */
  readonly loaded: LoadedModel | undefined
  /** The error of the last attempt to load it; empty if there was none. */
  readonly reason: string
  /** Called whenever a model was loaded. */
  onLoaded: () => void
}

/** Milliseconds between two attempts, doubled each time. */
export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/** The default backoff. A registry must not be requested often, but the first failure may be transient. */
const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 60_000 }

/** The embedding model: not loaded yet, loaded, or unavailable; until it is loaded, it is retried. */
export class Model implements ModelSource {
  readonly #options: ModelOptions
  readonly #stop = new AbortController()
  #loaded: (LoadedModel & { readonly embedder: Embedder }) | undefined
  #reason = ''
  #running: Promise<void> | undefined
  onLoaded: () => void = () => undefined

  constructor(options: ModelOptions) {
    this.#options = options
  }

  get loaded(): LoadedModel | undefined {
    return this.#loaded
  }

  get reason(): string {
    return this.#reason
  }

  /** Starts to load the model. It retries until closed. */
  start(): void {
    this.#running ??= this.#run().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#loaded?.embedder.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const { logger, backoff = BACKOFF } = this.#options
    for (let failures = 0; !signal.aborted;) {
      try {
        const { lost } = await this.#load()
        failures = 0
        const error = await Promise.race([lost, aborted(signal)])
        if (error === undefined) return
        this.#loaded = undefined
        throw error
      } catch (error) {
        if (signal.aborted) return
        const message = error instanceof Error ? error.message : String(error)
        if (message !== this.#reason)
          logger.warn(
            { code: codeOf(error), reason: message },
            'embedding model unavailable, searching by words only, retrying',
          )
        this.#reason = message
        await sleep(Math.min(backoff.maxMs, backoff.firstMs * 2 ** failures++), undefined, { signal })
      }
    }
  }

  async #load(): Promise<Embedder> {
    const files = await this.#locate()
    const embedder = await Embedder.start(files)
    this.#loaded = { embedder, checksum: files.checksum }
    this.#reason = ''
    this.#options.logger.info({ model: files.onnx, checksum: files.checksum }, 'embedding model loaded')
    this.onLoaded()
    return embedder
  }

  async #locate(): Promise<ModelFiles> {
    const { folder, cache, routes, logger } = this.#options
    if (folder !== undefined) return modelIn(folder)
    const { signal } = this.#stop
    try {
      return await modelIn(
        (await fetchedModel(routes, cache)) ?? (await fetchModel(routes, cache, { logger, signal })),
      )
    } catch (error) {
      throw new ModelUnavailable(
        `the model could not be fetched (${error instanceof Error ? error.message : String(error)})`,
      )
    }
  }
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await once(signal, 'abort')
}
