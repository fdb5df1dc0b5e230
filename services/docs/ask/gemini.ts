import { GoogleGenAI, type GenerateContentParameters, type GenerateContentResponse } from '@google/genai'
import type { Logger } from '../../../pipelines/logger.js'
import { AnswerFailed, type Answerer, type FailureReason, type Question } from './answerer.js'
import type { Evidence, Source } from './evidence.js'
import { promptOf } from './prompt.js'

export interface GeminiOptions {
  readonly apiKey: string
  /** Undefined: where Google has it. */
  readonly baseUrl?: string | undefined
  readonly model: string
  readonly logger: Logger
  /** Milliseconds for a whole answer, or between two pieces of a stream. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 30_000
const MOST_TOKENS = 4_096

/** Answers by Gemini. The only place that knows @google/genai. */
export class GeminiAnswerer implements Answerer {
  readonly name = 'gemini'
  readonly #options: GeminiOptions
  readonly #client: GoogleGenAI

  constructor(options: GeminiOptions) {
    this.#options = options
    const { apiKey, baseUrl } = options
    this.#client = new GoogleGenAI({
      apiKey,
      vertexai: false,
      ...(baseUrl === undefined ? {} : { httpOptions: { baseUrl } }),
    })
  }

  sources({ sources }: Evidence): readonly Source[] {
    return sources
  }

  async answer(question: Question, signal: AbortSignal): Promise<string> {
    const patience = new Patience(this.#options.patienceMs ?? PATIENCE_MS, signal)
    try {
      const response = await this.#client.models.generateContent(this.#parameters(question, patience.signal))
      const text = textOf(response)
      const end = endOf(response)
      if (end !== undefined) throw new AnswerFailed(end)
      if (text.trim() === '') throw new AnswerFailed('empty')
      return text
    } catch (error) {
      throw this.#failure(error, patience)
    } finally {
      patience.end()
    }
  }

  async *stream(question: Question, signal: AbortSignal): AsyncGenerator<string> {
    const patience = new Patience(this.#options.patienceMs ?? PATIENCE_MS, signal)
    let isEmpty = true
    let isOver = false
    try {
      for await (const response of await this.#client.models.generateContentStream(
        this.#parameters(question, patience.signal),
      )) {
        patience.renew()
        const text = textOf(response)
        const end = endOf(response)
        if (end !== undefined) throw new AnswerFailed(end)
        isOver ||= response.candidates?.[0]?.finishReason !== undefined
        if (text === '') continue
        isEmpty &&= text.trim() === ''
        yield text
      }
      if (!isOver) throw new AnswerFailed('cut off')
      if (isEmpty) throw new AnswerFailed('empty')
    } catch (error) {
      throw this.#failure(error, patience)
    } finally {
      // Leaving the loop alone would let the provider write on.
      patience.abort()
    }
  }

  #parameters(question: Question, abortSignal: AbortSignal): GenerateContentParameters {
    const { instruction, turns } = promptOf(question)
    return {
      model: this.#options.model,
      contents: turns.map(({ role, texts }) => ({
        role: role === 'user' ? 'user' : 'model',
        parts: texts.map((text) => ({ text })),
      })),
      config: { systemInstruction: instruction, temperature: 0.2, maxOutputTokens: MOST_TOKENS, abortSignal },
    }
  }

  /** The log names the kind of the failure only: a provider's message is the raw body of its answer. */
  #failure(error: unknown, patience: Patience): AnswerFailed {
    const failed =
      error instanceof AnswerFailed
        ? error
        : new AnswerFailed(patience.isOver ? 'timeout' : 'provider', { cause: error })
    const { name, status } = error as { name?: string; status?: number }
    if (!patience.isLeft)
      this.#options.logger.warn({ reason: failed.reason, name, status }, 'Gemini returned no answer')
    return failed
  }
}

/** Ends a call when its time is over, or when the client has left. */
class Patience {
  readonly #over = new AbortController()
  readonly #left: AbortSignal
  readonly #timer: NodeJS.Timeout
  readonly signal: AbortSignal

  constructor(ms: number, left: AbortSignal) {
    this.#left = left
    this.signal = AbortSignal.any([left, this.#over.signal])
    this.#timer = setTimeout(() => {
      this.isOver = true
      this.#over.abort()
    }, ms)
  }

  isOver = false

  get isLeft(): boolean {
    return this.#left.aborted
  }

  renew(): void {
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  abort(): void {
    this.end()
    this.#over.abort()
  }
}

/** Thoughts are not part of the answer. */
function textOf({ candidates }: GenerateContentResponse): string {
  const parts = candidates?.[0]?.content?.parts ?? []
  return parts.map(({ text, thought }) => (thought === true ? '' : (text ?? ''))).join('')
}

/** Ends that leave an answer standing; an answer that became too long is one. */
const GOOD_ENDS = new Set(['STOP', 'MAX_TOKENS', 'FINISH_REASON_UNSPECIFIED'])

function endOf({ candidates, promptFeedback }: GenerateContentResponse): FailureReason | undefined {
  if (promptFeedback?.blockReason !== undefined) return 'blocked'
  const reason = candidates?.[0]?.finishReason
  return reason === undefined || GOOD_ENDS.has(reason) ? undefined : 'blocked'
}
