import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import {
  DIMENSIONS,
  type EmbeddingJob,
  type EmbeddingReply,
  type ThreadOptions,
} from './embedding-messages.js'
import type { ModelFiles } from './files.js'
import { isUnit } from '../meaning/vector.js'

/** The model cannot be used (any more): its thread has ended, or its files are no such model. */
export class ModelLost extends Error {
  override readonly name = 'ModelLost'
}

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
  readonly #thread: Worker
  readonly #questions: Wanted[] = []
  readonly #passages: Wanted[] = []
  readonly #underWay = new Map<number, readonly Wanted[]>()
  #nextId = 0
  #scheduled = false
  #lost: ModelLost | undefined
  /** Told once, when it is of no use any more and was not closed. */
  onLost: (error: ModelLost) => void = () => undefined

  private constructor(thread: Worker) {
    this.#thread = thread
    thread.on('message', (reply: EmbeddingReply) => {
      this.#answer(reply)
    })
    thread.on('error', (error) => {
      this.#lose(new ModelLost(error instanceof Error ? error.message : String(error)))
    })
    thread.on('exit', (code) => {
      this.#lose(new ModelLost(`the model's thread ended with ${String(code)}`))
    })
  }

  /** Loads a model and has it embed a word. One core is left for everything else. @throws ModelLost where that does not work. */
  static async start(
    { onnx, tokenizer }: ModelFiles,
    threads = Math.max(1, availableParallelism() - 1),
  ): Promise<Embedder> {
    const thread = new Worker(threadScript(), {
      workerData: { onnx, tokenizer, threads } satisfies ThreadOptions,
      // Word pieces are short-lived and few: more room would only be held.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    const embedder = new Embedder(thread)
    const timer = setTimeout(() => {
      embedder.#lose(new ModelLost(`the model was not loaded in ${String(LOAD_MS / 1000)} s`))
    }, LOAD_MS)
    try {
      await embedder.question('word')
      return embedder
    } catch (error) {
      await embedder.close()
      throw error instanceof ModelLost ? error : new ModelLost(String(error))
    } finally {
      clearTimeout(timer)
    }
  }

  /** @returns a vector of length 1. @throws ModelLost */
  question(text: string): Promise<Float32Array> {
    return this.#enqueue(this.#questions, text)
  }

  /** @returns a vector of length 1, after all questions. @throws ModelLost */
  passage(text: string): Promise<Float32Array> {
    return this.#enqueue(this.#passages, text)
  }

  async close(): Promise<void> {
    this.onLost = () => undefined
    this.#lose(new ModelLost('closed'))
    await this.#thread.terminate()
  }

  #enqueue(queue: Wanted[], text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) {
        reject(this.#lost)
        return
      }
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
    while (this.#lost === undefined && this.#underWay.size < IN_FLIGHT) {
      const batch = this.#questions.splice(0, MOST_QUESTIONS)
      if (batch.length === 0 && this.#underWay.size === 0) batch.push(...this.#takePassages())
      if (batch.length === 0) return
      const id = this.#nextId++
      this.#underWay.set(id, batch)
      this.#thread.postMessage({ id, texts: batch.map(({ text }) => text) } satisfies EmbeddingJob)
    }
  }

  #takePassages(): Wanted[] {
    let characters = 0
    const fit = this.#passages.findIndex(({ text }) => (characters += text.length) > PASSAGE_CHARACTERS)
    return this.#passages.splice(0, fit < 0 ? this.#passages.length : Math.max(1, fit))
  }

  #answer({ id, vectors, error }: EmbeddingReply): void {
    const batch = this.#underWay.get(id)
    this.#underWay.delete(id)
    this.#dispatch()
    for (const [index, { resolve, reject }] of (batch ?? []).entries()) {
      const vector = vectors?.slice(index * DIMENSIONS, (index + 1) * DIMENSIONS)
      if (vector !== undefined && isUnit(vector)) resolve(vector)
      else reject(new ModelLost(error ?? 'the model gave what is no vector'))
    }
  }

  #lose(error: ModelLost): void {
    if (this.#lost !== undefined) return
    this.#lost = error
    const waiting = [...this.#underWay.values()].flat().concat(this.#questions, this.#passages)
    this.#underWay.clear()
    this.#questions.length = this.#passages.length = 0
    for (const { reject } of waiting) reject(error)
    this.onLost(error)
  }
}

/** A thread is plain JavaScript: started out of the sources (tests), the built one is taken. */
function threadScript(): URL {
  const built = import.meta.url.endsWith('.ts') ? '../../../dist/pipelines/retrieval/model/' : './'
  return new URL(`${built}embedding-thread.js`, import.meta.url)
}
