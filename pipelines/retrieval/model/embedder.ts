import { availableParallelism } from 'node:os'
import { coded } from '../../errors.js'
import { WorkerThread } from '../../worker-thread.js'
import { isUnit } from '../meaning/vector.js'
import { DIMENSIONS, type ThreadOptions } from './embedding-messages.js'
import type { ModelFiles } from './files.js'

/** The model cannot be used (any more): its thread has ended, or its files are no such model. */
export class ModelLost extends coded('HW_MODEL_LOST') {}

/**
 * Questions that go through the network together. Few: while some are in the network, others are answered, and more at a time are
 * no faster each.
 */
const MOST_QUESTIONS = 4
/** Of passages that go through it together: a question waits for them, at most about a tenth of a second. */
const PASSAGE_CHARACTERS = 1_500
/** Jobs that the thread has: while it does one, the next is there already. Passages never wait before a question. */
const IN_FLIGHT = 2
const LOAD_MS = 60_000

interface Wanted {
  readonly text: string
  readonly resolve: (vector: Float32Array) => void
  readonly reject: (error: Error) => void
}

/**
 * Embeds texts in a thread of its own. Texts that are asked for while it is busy go together in the next batch; questions
 * before passages.
 */
export class Embedder {
  readonly #thread: WorkerThread<readonly string[], Float32Array>
  readonly #questions: Wanted[] = []
  readonly #passages: Wanted[] = []
  /** Batches in the thread. */
  #underWay = 0
  #scheduled = false

  private constructor(options: ThreadOptions) {
    this.#thread = new WorkerThread('pipelines/retrieval/model/embedding-thread', {
      workerData: options,
      // Word pieces are short-lived and few: more room would only be held.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
  }

  /** Loads a model and has it embed a word. One core is left for everything else. @throws ModelLost where that does not work. */
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

  /** Resolves with the reason when it can be used no more. */
  get lost(): Promise<Error> {
    return this.#thread.ended
  }

  /** @returns a vector of length 1. @throws ModelLost */
  question(text: string): Promise<Float32Array> {
    return this.#enqueue(this.#questions, text)
  }

  /** @returns a vector of length 1, after all questions. @throws ModelLost */
  passage(text: string): Promise<Float32Array> {
    return this.#enqueue(this.#passages, text)
  }

  close(): Promise<void> {
    return this.#thread.close()
  }

  #enqueue(queue: Wanted[], text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      queue.push({ text, resolve, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      // At the end of this turn, so that what is asked in one go goes in one batch.
      queueMicrotask(() => {
        this.#scheduled = false
        this.#dispatch()
      })
    })
  }

  #dispatch(): void {
    while (this.#underWay < IN_FLIGHT) {
      const batch = this.#questions.splice(0, MOST_QUESTIONS)
      if (batch.length === 0 && this.#underWay === 0) batch.push(...this.#takePassages())
      if (batch.length === 0) return
      this.#underWay++
      void this.#embed(batch)
    }
  }

  #takePassages(): Wanted[] {
    let characters = 0
    const fit = this.#passages.findIndex(({ text }) => (characters += text.length) > PASSAGE_CHARACTERS)
    return this.#passages.splice(0, fit < 0 ? this.#passages.length : Math.max(1, fit))
  }

  async #embed(batch: readonly Wanted[]): Promise<void> {
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
