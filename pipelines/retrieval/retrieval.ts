import { join } from 'node:path'
import type { Page } from '../content/page.js'
import { codeOf } from '../errors.js'
import type { Logger } from '../logger.js'
import { type JobProgress, Pace } from '../pace.js'
import {
  type Artefact,
  ArtefactUnusable,
  describeArtefact,
  readArtefact,
  writeArtefact,
} from './disk/artefact.js'
import { type CarryingWord, weigh, wordsOf } from './evidence.js'
import { readAnalysed, writeAnalysed } from './disk/analysed-pages.js'
import type { Chunk } from './index/chunk.js'
import { Journal, readJournals } from './disk/journal.js'
import { ModelLost } from './model/embedder.js'
import type { Embeds, LoadedModel, ModelSource } from './model/model.js'
import { questionOf } from './words/question.js'
import { type ParsedQuery, NEAR_DEPTH } from './search.js'
import { embedChunk } from './meaning/chunk-vector.js'
import { SemanticIndex, type SemanticView } from './meaning/semantic.js'
import { PageIndexer, Snapshot } from './index/snapshot.js'

/** A source of pages. */
export interface Library {
  /** Returns the current pages; a new array after each change. */
  pages(): readonly Page[]
  /** Changes whenever a page changes. */
  readonly version: string
  onChange(listener: () => void): () => void
}

export interface RetrievalOptions {
  readonly library: Library
  readonly model: ModelSource
  /** The folder of the index on disk. */
  readonly folder: string
  readonly logger: Logger
}

export type SemanticState = 'loading' | 'ready' | 'unavailable'

export interface RetrievalStatus {
  readonly pages: number
  readonly chunks: number
  readonly semantic: SemanticState
  /** The reason if it is not ready; otherwise empty. */
  readonly reason: string
  /** Milliseconds since 1970; 0 before the first index. */
  readonly indexBuiltMs: number
  /** True if the content has changed since. */
  readonly indexStale: boolean
  /** Progress of the passages that are being embedded; 0 of 0 if there are none. */
  readonly embedding: JobProgress
}

/** A question with the data to rank it, all from one state of the index. */
export interface Lookup {
  readonly snapshot: Snapshot
  readonly parsed: ParsedQuery
  readonly ranking: 'lexical' | 'hybrid'
  /** The vector of the question; absent without a model, like `similarity`. */
  readonly vector?: Float32Array
  /** Returns the cosine of a chunk with the question, or with another vector; absent without a model. */
  readonly similarity?: (chunk: number, vector?: Float32Array) => number | undefined
}

/** A lookup with the words that a passage must cover. */
export interface EvidenceLookup extends Lookup {
  readonly words: readonly CarryingWord[]
}

interface Current {
  readonly snapshot: Snapshot
  /** Absent without a model, and until every chunk has a vector. */
  readonly view?: SemanticView
  /** Checksum of the model whose vectors the view contains. */
  readonly model?: string
}

/** The maximum time to embed a question. After it, the question is answered by words only. */
const QUESTION_MS = 2_000
const LOG_EVERY_MS = 5_000
/** The number of characters that are embedded between two checks whether they are still needed: about a second. */
const EMBEDDED_CHARACTERS = 15_000
/** The share of pages that must be new for the analysed pages to be stored again. */
const MIN_UNSTORED = 0.05
const NO_EMBEDDING: JobProgress = { done: 0, total: 0, secondsLeft: undefined }

/**
 * The index of a library, kept up to date. Searches use the current state while the next one is built, and then switch over in one
 * step. Without a model the index is searched by words only.
 */
export class Retrieval {
  readonly #options: RetrievalOptions
  readonly #indexer: PageIndexer
  #journal: Journal | undefined
  #current: Current
  #semantic: { readonly index: SemanticIndex; readonly model: string } | undefined
  #embedding: JobProgress = NO_EMBEDDING
  #builtAtMs = 0
  #work: Promise<void> = Promise.resolve()
  #isOutdated = false
  #isUpdating = false
  #closed = false
  readonly #unsubscribe: () => void

  private constructor(options: RetrievalOptions, indexer: PageIndexer) {
    this.#options = options
    this.#indexer = indexer
    this.#current = { snapshot: this.#snapshotOf(options.library) }
    this.#unsubscribe = options.library.onChange(() => {
      this.#requestUpdate()
    })
    options.model.onLoaded = () => {
      this.#requestUpdate()
    }
  }

  /** Opens the index. It is searched by words at once, and by meaning as soon as a model is loaded and every chunk has a vector. */
  static async open(options: RetrievalOptions): Promise<Retrieval> {
    const indexer = new PageIndexer(await readAnalysed(options.folder))
    await indexer.prepare(indexable(options.library))
    const retrieval = new Retrieval(options, indexer)
    const description = await describeArtefact(options.folder)
    const { version } = retrieval.#current.snapshot
    retrieval.#builtAtMs = description?.content === version ? description.builtAtMs : Date.now()
    retrieval.#requestUpdate()
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
   * Returns the data to rank a question: the current state and, if there is a model, the similarity of chunks.
   * @param accept selects the pages that may be among the results.
   */
  async lookUp(text: string, accept?: (page: Page) => boolean): Promise<Lookup> {
    const { snapshot } = this.#current
    const view = this.#view()
    const isAccepted = accept && snapshot.pages.map(({ page }) => accept(page))
    const parsed = {
      question: questionOf(text, snapshot.lexicon),
      accept: isAccepted && ((page: number) => isAccepted[page] === true),
    }
    const embedder = this.#options.model.loaded?.embedder
    if (embedder === undefined || view === undefined) return { snapshot, parsed, ranking: 'lexical' }
    const vector = await this.#inTime(embedder.question(text))
    if (vector === undefined) return { snapshot, parsed, ranking: 'lexical' }
    const ofChunk = isAccepted && ((chunk: number): boolean => isAccepted[snapshot.pageOf(chunk)] === true)
    const dense = view.near(vector, NEAR_DEPTH, ofChunk)
    const similarity = (chunk: number, other = vector): number | undefined => view.similarity(other, chunk)
    return { snapshot, parsed: { ...parsed, dense }, ranking: 'hybrid', vector, similarity }
  }

  /** Returns the data to rank a question and to judge whether passages answer it. */
  async lookUpEvidence(text: string, accept?: (page: Page) => boolean): Promise<EvidenceLookup> {
    const lookup = await this.lookUp(text, accept)
    const words = wordsOf(lookup.snapshot, lookup.parsed.question)
    const embedder = this.#options.model.loaded?.embedder
    const { vector } = lookup
    if (vector === undefined || embedder === undefined) return { ...lookup, words }
    return { ...lookup, words: (await this.#inTime(weigh(words, { text, vector }, embedder))) ?? words }
  }

  /** Resolves when no update of the index is in progress. */
  async settled(): Promise<void> {
    while (this.#isUpdating) await this.#work
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unsubscribe()
    this.#options.model.onLoaded = () => undefined
    await this.#work
  }

  /** Returns the view of the current state, if its vectors come from the loaded model. */
  #view(): SemanticView | undefined {
    const { view, model } = this.#current
    return model !== undefined && model === this.#options.model.loaded?.checksum ? view : undefined
  }

  /** Resolves with the result of an embedding; undefined if it takes too long or the model was lost. */
  async #inTime<T>(embedding: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), QUESTION_MS)
    })
    try {
      return await Promise.race([embedding, late])
    } catch (error) {
      if (error instanceof ModelLost) return undefined
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Starts an update, or another one after the update that is in progress. */
  #requestUpdate(): void {
    this.#isOutdated = true
    if (this.#isUpdating) return
    this.#isUpdating = true
    this.#work = this.#run()
  }

  async #run(): Promise<void> {
    while (this.#isOutdated && !this.#closed) {
      this.#isOutdated = false
      try {
        await this.#update()
        await this.#storeWords()
      } catch (error) {
        this.#options.logger.error({ err: error }, `updating the index failed: ${String(error)}`)
      }
    }
    this.#isUpdating = false
  }

  async #update(): Promise<void> {
    const { library, model } = this.#options
    const { loaded } = model
    const isNew = this.#current.snapshot.version !== library.version
    if (!isNew && (loaded === undefined || this.#view() !== undefined)) return
    if (isNew) await this.#indexer.prepare(indexable(library))
    const snapshot = isNew ? this.#snapshotOf(library) : this.#current.snapshot
    // Without vectors in use, the new words need not wait for theirs.
    if (isNew && this.#view() === undefined) this.#switch({ snapshot })
    if (loaded !== undefined) await this.#addMeaning(loaded, snapshot, isNew)
  }

  /** Embeds the missing chunks, and switches to the snapshot with all of its vectors. */
  async #addMeaning(loaded: LoadedModel, snapshot: Snapshot, isNew: boolean): Promise<void> {
    const { index, artefact } = await this.#indexFor(loaded)
    const outcome = await this.#embed(loaded.embedder, index, snapshot)
    // `onLoaded` requests an update when the model is back. Until then the changed content is searched by words.
    if (outcome === 'lost' && isNew) this.#switch({ snapshot })
    if (outcome !== 'complete') return
    const view = await index.prepare(snapshot.chunks)
    this.#switch({ snapshot, view, model: loaded.checksum }, artefact)
    index.settle(snapshot.chunks)
    if (artefact?.content !== snapshot.version) await this.#save(loaded, snapshot, view)
  }

  /** Returns the vectors of a model from memory, otherwise from disk, otherwise none. */
  async #indexFor({
    checksum,
  }: LoadedModel): Promise<{ index: SemanticIndex; artefact?: Artefact | undefined }> {
    if (this.#semantic?.model === checksum) return { index: this.#semantic.index }
    const artefact = await this.#read(checksum)
    const journal = await readJournals(this.#options.folder, checksum)
    const index = new SemanticIndex(journal, artefact)
    this.#semantic = { index, model: checksum }
    this.#journal = new Journal(this.#options.folder, checksum)
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

  /**
   * Embeds the missing chunks. Vectors stay in the index whatever the outcome, which is `outdated` if the content has changed
   * meanwhile or the index was closed.
   */
  async #embed(
    embedder: Embeds,
    index: SemanticIndex,
    snapshot: Snapshot,
  ): Promise<'complete' | 'lost' | 'outdated'> {
    const chunks = index.missing(snapshot.chunks).sort(longestFirst)
    const characters = charactersOf(chunks)
    const pace = new Pace()
    let [done, charactersDone, loggedAt] = [0, 0, Date.now()]
    try {
      for (const batch of batches(chunks)) {
        if (this.#closed || this.#options.library.version !== snapshot.version) return 'outdated'
        const secondsLeft = pace.secondsLeft(charactersDone, characters)
        this.#embedding = { done, total: chunks.length, secondsLeft }
        const vectors = await Promise.all(batch.map((chunk) => embedChunk(embedder, chunk)))
        const pairs = batch.map((chunk, at) => [chunk, vectors[at] ?? new Float32Array()] as const)
        for (const [chunk, vector] of pairs) index.keep(chunk, vector)
        await this.#note(pairs.map(([{ hash }, vector]) => [hash, vector]))
        done += batch.length
        charactersDone += charactersOf(batch)
        if (Date.now() - loggedAt < LOG_EVERY_MS) continue
        loggedAt = Date.now()
        this.#options.logger.info({ done, of: chunks.length, secondsLeft }, 'embedding passages')
      }
      return 'complete'
    } catch (error) {
      if (!(error instanceof ModelLost)) throw error
      this.#options.logger.warn(
        { code: error.code, reason: error.message },
        'model lost while embedding passages',
      )
      return 'lost'
    } finally {
      this.#embedding = NO_EMBEDDING
    }
  }

  /** Stores the analysed pages, for the next start. A few changed pages are not worth it: they are analysed in milliseconds. */
  async #storeWords(): Promise<void> {
    if (this.#indexer.unstored < MIN_UNSTORED) return
    const { folder, logger } = this.#options
    try {
      await writeAnalysed(folder, this.#indexer.toStore())
    } catch (error) {
      logger.warn(
        { folder, reason: String(error) },
        'analysed pages cannot be stored: the next start is slower',
      )
    }
  }

  /** Appends vectors to the journal. Without it, only a killed process has to embed more than once. */
  async #note(vectors: readonly (readonly [string, Float32Array])[]): Promise<void> {
    try {
      await this.#journal?.append(vectors)
    } catch (error) {
      this.#journal = undefined
      const { folder, logger } = this.#options
      logger.warn({ folder, reason: String(error) }, 'vectors cannot be stored while passages are embedded')
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
    const chunks = snapshot.chunks.map(({ id, hash }, at) => ({ id, hash, label: labels[at] ?? -1 }))
    const { version: content } = snapshot
    try {
      await writeArtefact(folder, { model: checksum, content, builtAtMs: this.#builtAtMs, chunks, graph })
    } catch (error) {
      // The index in memory is complete; only the next start has to embed again.
      logger.error({ folder, err: error }, `saving the index failed: ${String(error)}`)
    }
  }

  #snapshotOf(library: Library): Snapshot {
    const { version } = library
    return new Snapshot(version, this.#indexer.index(indexable(library)), this.#indexer.lexicon)
  }
}

/** Returns the pages that search and answers do not leave out. */
const indexable = (library: Library): readonly Page[] =>
  library.pages().filter(({ isInSearch }) => isInSearch)

/** Sorts texts of similar length together: padding takes as much time as words. Long ones first, so that estimates are not too low. */
const longestFirst = (a: Chunk, b: Chunk): number => b.text.length - a.text.length

const charactersOf = (chunks: readonly Chunk[]): number =>
  chunks.reduce((sum, { text }) => sum + text.length, 0)

/** Splits chunks so that each part is embedded within about a second. */
function* batches(chunks: readonly Chunk[]): Generator<readonly Chunk[]> {
  for (let from = 0, to = 0; from < chunks.length; from = to) {
    for (let characters = 0; to < chunks.length && characters < EMBEDDED_CHARACTERS; to++)
      characters += chunks[to]?.text.length ?? 0
    yield chunks.slice(from, to)
  }
}

/** Returns the folder of the index in DATA_DIR. */
export const indexFolder = (dataDir: string): string => join(dataDir, 'docs-index')
