import { join } from 'node:path'
import type { Page } from '../content/page.js'
import { codeOf } from '../errors.js'
import type { Logger } from '../logger.js'
import {
  type Artefact,
  ArtefactUnusable,
  describeArtefact,
  readArtefact,
  writeArtefact,
} from './index/artefact.js'
import { ModelLost } from './model/embedder.js'
import type { Embeds, LoadedModel, ModelSource } from './model/model.js'
import { questionOf } from './words/question.js'
import { type ParsedQuery, NEAR_DEPTH } from './search.js'
import { SemanticIndex, type SemanticView } from './meaning/semantic.js'
import { PageIndexer, Snapshot } from './index/snapshot.js'

/** Where the pages come from. */
export interface Library {
  /** Another array after each change. */
  pages(): readonly Page[]
  /** Another one whenever any page is another one. */
  readonly version: string
  onChange(listener: () => void): () => void
}

export interface RetrievalOptions {
  readonly library: Library
  readonly model: ModelSource
  /** Of the index. */
  readonly folder: string
  readonly logger: Logger
}

export type SemanticState = 'loading' | 'ready' | 'unavailable'

export interface RetrievalStatus {
  readonly pages: number
  readonly chunks: number
  readonly semantic: SemanticState
  /** Why it is not ready; empty where it is. */
  readonly reason: string
  /** 0 before the first index. */
  readonly indexBuiltMs: number
  /** The content, or the model, has changed since. */
  readonly indexStale: boolean
  /** Of those whose vectors are being made at the moment; 0 where none are. */
  readonly embedding: { readonly done: number; readonly total: number }
}

/** A question with what it needs to be ranked, all of one state of the index. */
export interface Looked {
  readonly snapshot: Snapshot
  readonly parsed: ParsedQuery
  readonly ranking: 'lexical' | 'hybrid'
  /** The cosine of question and chunk; absent without a model. */
  readonly similarity?: (chunk: number) => number | undefined
}

interface Current {
  readonly snapshot: Snapshot
  /** Absent while the model is, and until every chunk has its vector. */
  readonly view?: SemanticView
  /** Checksum of the model that made the view. */
  readonly model?: string
}

/** A question whose embedding takes longer is answered by its words. */
const QUESTION_MS = 2_000
const SAY_EVERY_MS = 5_000
const EMBEDDED_AT_ONCE = 64

/**
 * The index of a library, kept up to date: searches answer from the present state while the next one is made, and everything
 * switches in one step. Without a model by words alone; when it comes, with it.
 */
export class Retrieval {
  readonly #options: RetrievalOptions
  readonly #indexer = new PageIndexer()
  #current: Current
  #semantic: { readonly index: SemanticIndex; readonly model: string } | undefined
  #embedding = { done: 0, total: 0 }
  #builtAtMs = 0
  #work: Promise<void> = Promise.resolve()
  #again = false
  #working = false
  #closed = false
  readonly #forget: () => void

  private constructor(options: RetrievalOptions) {
    this.#options = options
    this.#current = { snapshot: this.#snapshotOf(options.library) }
    this.#forget = options.library.onChange(() => {
      this.#want()
    })
    options.model.onLoaded = () => {
      this.#want()
    }
  }

  /** Serves by words at once; by meaning as soon as the model is there and every chunk has its vector. */
  static async open(options: RetrievalOptions): Promise<Retrieval> {
    const retrieval = new Retrieval(options)
    const kept = await describeArtefact(options.folder)
    const { version } = retrieval.#current.snapshot
    retrieval.#builtAtMs = kept?.content === version ? kept.builtAtMs : Date.now()
    retrieval.#want()
    return retrieval
  }

  status(): RetrievalStatus {
    const { library, model } = this.#options
    const { snapshot } = this.#current
    const isUnavailable = model.loaded === undefined && model.reason !== ''
    const semantic = this.#view() !== undefined ? 'ready' : isUnavailable ? 'unavailable' : 'loading'
    return {
      pages: snapshot.pages.length,
      chunks: snapshot.chunks.length,
      semantic,
      reason:
        semantic === 'ready'
          ? ''
          : isUnavailable
            ? model.reason
            : 'the model is being loaded, or passages are being embedded',
      indexBuiltMs: this.#builtAtMs,
      indexStale: snapshot.version !== library.version,
      embedding: this.#embedding,
    }
  }

  /**
   * The present state, and how near each chunk is to the question where there is a model.
   * @param accept which pages may be among the results.
   */
  async look(text: string, accept?: (page: Page) => boolean): Promise<Looked> {
    const { snapshot } = this.#current
    const view = this.#view()
    const wanted = accept && snapshot.pages.map(({ page }) => accept(page))
    const parsed = { question: questionOf(text), accept: wanted && ((page: number) => wanted[page] === true) }
    const embedder = this.#options.model.loaded?.embedder
    if (embedder === undefined || view === undefined) return { snapshot, parsed, ranking: 'lexical' }
    const vector = await this.#embedQuestion(embedder, text)
    if (vector === undefined) return { snapshot, parsed, ranking: 'lexical' }
    const ofChunk = wanted && ((chunk: number): boolean => wanted[snapshot.pageOf(chunk)] === true)
    const dense = view.near(vector, NEAR_DEPTH, ofChunk)
    const similarity = (chunk: number): number | undefined => view.similarity(vector, chunk)
    return { snapshot, parsed: { ...parsed, dense }, ranking: 'hybrid', similarity }
  }

  /** Resolves when nothing is to be done any more for the content and the model as they are. */
  async settled(): Promise<void> {
    while (this.#working) await this.#work
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#forget()
    this.#options.model.onLoaded = () => undefined
    await this.#work
  }

  /** Of the present state, where the model that made it is the one that is there. */
  #view(): SemanticView | undefined {
    const { view, model } = this.#current
    return model !== undefined && model === this.#options.model.loaded?.checksum ? view : undefined
  }

  async #embedQuestion(embedder: Embeds, text: string): Promise<Float32Array | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), QUESTION_MS)
    })
    try {
      return await Promise.race([embedder.question(text), late])
    } catch (error) {
      if (error instanceof ModelLost) return undefined
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** One at a time works, and looks again at the end whether there is more to do. */
  #want(): void {
    this.#again = true
    if (this.#working) return
    this.#working = true
    this.#work = this.#run()
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      try {
        await this.#update()
      } catch (error) {
        this.#options.logger.error({ err: error }, `updating the index failed: ${String(error)}`)
      }
    }
    this.#working = false
  }

  async #update(): Promise<void> {
    const { library, model } = this.#options
    const { loaded } = model
    const isNew = this.#current.snapshot.version !== library.version
    if (!isNew && (loaded === undefined || this.#view() !== undefined)) return
    const snapshot = isNew ? this.#snapshotOf(library) : this.#current.snapshot
    // Words need not wait for meaning where there is none at the moment.
    if (isNew && this.#view() === undefined) this.#switch({ snapshot })
    if (loaded !== undefined) await this.#addMeaning(loaded, snapshot, isNew)
  }

  /** Embeds what is missing, and switches to the snapshot with all of its vectors. */
  async #addMeaning(loaded: LoadedModel, snapshot: Snapshot, isNew: boolean): Promise<void> {
    const { index, artefact } = await this.#indexFor(loaded)
    const outcome = await this.#embed(loaded.embedder, index, snapshot)
    // The model says when it is back; the words of what has changed are searched meanwhile.
    if (outcome === 'lost' && isNew) this.#switch({ snapshot })
    if (outcome !== 'complete') return
    const view = await index.prepare(snapshot.chunks)
    this.#switch({ snapshot, view, model: loaded.checksum }, artefact)
    index.settle(snapshot.chunks)
    if (artefact?.content !== snapshot.version) await this.#save(loaded, snapshot, view)
  }

  /** The vectors of a model: those in memory, else those on disk, else none. */
  async #indexFor({
    checksum,
  }: LoadedModel): Promise<{ index: SemanticIndex; artefact?: Artefact | undefined }> {
    if (this.#semantic?.model === checksum) return { index: this.#semantic.index }
    const artefact = await this.#read(checksum)
    const labels = new Map(artefact?.chunks.map(({ id, label }) => [id, label]))
    const index = new SemanticIndex(artefact === undefined ? undefined : { ...artefact, labels })
    this.#semantic = { index, model: checksum }
    return { index, artefact }
  }

  async #read(checksum: string): Promise<Artefact | undefined> {
    const { folder, logger } = this.#options
    try {
      return await readArtefact(folder, checksum)
    } catch (error) {
      const reason = error instanceof ArtefactUnusable ? error.message : String(error)
      logger.warn({ code: codeOf(error), folder, reason }, 'index on disk unusable, rebuilding it')
      return undefined
    }
  }

  /** What was embedded stays in the index, however it ends: `outdated` when the content has changed meanwhile. */
  async #embed(
    embedder: Embeds,
    index: SemanticIndex,
    snapshot: Snapshot,
  ): Promise<'complete' | 'lost' | 'outdated'> {
    const chunks = index.missing(snapshot.chunks)
    let loggedAt = Date.now()
    try {
      for (let from = 0; from < chunks.length; from += EMBEDDED_AT_ONCE) {
        if (this.#closed || this.#options.library.version !== snapshot.version) return 'outdated'
        this.#embedding = { done: from, total: chunks.length }
        const embedded = chunks.slice(from, from + EMBEDDED_AT_ONCE).map(async (chunk) => {
          index.keep(chunk, await embedder.passage(chunk.text))
        })
        await Promise.all(embedded)
        if (Date.now() - loggedAt < SAY_EVERY_MS) continue
        loggedAt = Date.now()
        this.#options.logger.info({ done: from, of: chunks.length }, 'embedding passages')
      }
      return 'complete'
    } catch (error) {
      if (!(error instanceof ModelLost)) throw error
      this.#options.logger.warn(
        { code: error.code, reason: error.message },
        'the model was lost while passages were embedded',
      )
      return 'lost'
    } finally {
      this.#embedding = { done: 0, total: 0 }
    }
  }

  #switch(next: Current, artefact?: Artefact): void {
    this.#current = next
    const { snapshot } = next
    this.#builtAtMs = artefact?.content === snapshot.version ? artefact.builtAtMs : Date.now()
    const { pages, chunks } = snapshot
    this.#options.logger.info(
      { pages: pages.length, chunks: chunks.length, semantic: next.view !== undefined },
      'index in use',
    )
  }

  async #save({ checksum }: LoadedModel, snapshot: Snapshot, { graph, labels }: SemanticView): Promise<void> {
    const { folder, logger } = this.#options
    const chunks = snapshot.chunks.map(({ id, hash }, chunk) => ({
      id,
      hash,
      label: labels[chunk] ?? -1,
    }))
    const { version: content } = snapshot
    try {
      await writeArtefact(folder, { model: checksum, content, builtAtMs: this.#builtAtMs, chunks, graph })
    } catch (error) {
      // What is in memory is right; the next start has more to do.
      logger.error({ folder, err: error }, `saving the index failed: ${String(error)}`)
    }
  }

  #snapshotOf(library: Library): Snapshot {
    const { version } = library
    return new Snapshot(version, this.#indexer.index(library.pages()), this.#indexer.lexicon)
  }
}

/** Where the index is, below DATA_DIR. */
export const indexFolder = (dataDir: string): string => join(dataDir, 'docs-index')
