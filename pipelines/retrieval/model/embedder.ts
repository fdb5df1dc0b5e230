import { availableParallelism } from 'node:os'
import { coded } from '../../errors.js'
import { WorkerThread } from '../../worker-thread.js'
import { isUnit } from './vector.js'
import { DIMENSIONS, type ThreadOptions } from './embedding-messages.js'
import type { ModelFiles } from './files.js'

/** Thrown if the model cannot be used, or no longer: its thread has ended, or its files are not such a model. */
export class ModelLost extends coded('HW_MODEL_LOST') {}

/**
 * The maximum number of questions per batch. It is small, because a larger batch takes as much time per question, and questions of
 * the previous batch are answered meanwhile.
 */
const MAX_QUESTIONS = 4
/** The maximum length of a batch of passages, in characters. A question waits for such a batch, about a tenth of a second at most. */
const PASSAGE_CHARACTERS = 1_500
/** The number of batches in the thread: while it runs one, the next one is queued. Passages are never queued before a question. */
const IN_FLIGHT = 2
const LOAD_MS = 60_000

interface Queued {
  readonly text: string
  readonly resolve: (vector: Float32Array) => void
  readonly reject: (error: Error) => void
}

/**
 * Embeds texts in a separate thread. Texts that arrive while it is busy are combined in the next batch, questions before passages.
 */
export class Embedder {
  readonly #thread: WorkerThread<readonly string[], Float32Array>
  readonly #questions: Queued[] = []
  readonly #passages: Queued[] = []
  /** Batches in the thread. */
  #underWay = 0
  #scheduled = false

  private constructor(options: ThreadOptions) {
    this.#thread = new WorkerThread('pipelines/retrieval/model/embedding-thread', {
      workerData: options,
      // Word pieces are few and short-lived: a larger young generation would only take memory.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
  }

  /** Loads a model and embeds a word with it. One core is left for everything else. @throws ModelLost if that fails. */
  static async start(
    { onnx, tokenizer }: ModelFiles,
    threads = Math.max(1, availableParallelism() - 1),
  ): Promise<Embedder> {
    const embedder = new Embedder({ onnx, tokenizer, threads })
    const timer = setTimeout(() => {
      void embedder.#thread.close(new Error(`the model was not loaded in ${String(LOAD_MS / 1000)} s`))
    }, LOAD_MS)
    try {
      await embedder.question('word')
      return embedder
    } catch (error) {
      await embedder.close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves with the reason when the model can no longer be used. */
  get lost(): Promise<Error> {
    return this.#thread.ended
  }

  /** Embeds a question. @returns a vector of length 1. @throws ModelLost */
  question(text: string): Promise<Float32Array> {
    return this.#enqueue(this.#questions, text)
  }

  /** Embeds a passage, after all questions. @returns a vector of length 1. @throws ModelLost */
  passage(text: string): Promise<Float32Array> {
    return this.#enqueue(this.#passages, text)
  }

  close(): Promise<void> {
    return this.#thread.close()
  }

  #enqueue(queue: Queued[], text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      queue.push({ text, resolve, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      // Runs at the end of this turn, so that texts of the same turn are in one batch.
      queueMicrotask(() => {
        this.#scheduled = false
        this.#dispatch()
      })
    })
  }

  #dispatch(): void {
    while (this.#underWay < IN_FLIGHT) {
      const batch = this.#questions.splice(0, MAX_QUESTIONS)
      if (batch.length === 0 && this.#underWay === 0) batch.push(...this.#takePassages())
      if (batch.length === 0) return
      this.#underWay++
      void this.#embed(batch)
    }
  }

  #takePassages(): Queued[] {
    let characters = 0
    const fit = this.#passages.findIndex(({ text }) => (characters += text.length) > PASSAGE_CHARACTERS)
    return this.#passages.splice(0, fit < 0 ? this.#passages.length : Math.max(1, fit))
  }

  async #embed(batch: readonly Queued[]): Promise<void> {
    const texts = batch.map(({ text }) => text)
    const vectors = await this.#thread.run(texts).catch((error: unknown) => error as Error)
    this.#underWay--
    this.#dispatch()
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (vectors instanceof Error) reject(new ModelLost(vectors.message, { cause: vectors }))
      else {
        const vector = vectors.slice(index * DIMENSIONS, (index + 1) * DIMENSIONS)
        if (isUnit(vector)) resolve(vector)
        else reject(new ModelLost('the model returned an invalid vector'))
      }
    }
  }
}
