import { GoogleGenAI, type GenerateContentParameters, type GenerateContentResponse } from '@google/genai'
import type { Logger } from '../../../pipelines/logger.js'
import { AnswerFailed, type Answerer, type FailureReason, type Question } from './answerer.js'
import type { Evidence, Source } from './evidence.js'
import { promptOf } from './prompt.js'

export interface GeminiOptions {
  readonly apiKey: string
  /** If undefined, the endpoint of Google. */
  readonly baseUrl?: string | undefined
  readonly model: string
  readonly logger: Logger
  /** The maximum time for a whole answer, or between two parts of a stream, in milliseconds. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 30_000
const MAX_TOKENS = 4_096

/** Answers with Gemini. Only this file imports @google/genai. */
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
      return isCut(response) ? text + cutNote(text) : text
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
    let isIncomplete = false
    let whole = ''
    try {
      for await (const response of await this.#client.models.generateContentStream(
        this.#parameters(question, patience.signal),
      )) {
        patience.renew()
        const text = textOf(response)
        const end = endOf(response)
        if (end !== undefined) throw new AnswerFailed(end)
        isOver ||= response.candidates?.[0]?.finishReason !== undefined
        isIncomplete ||= isCut(response)
        if (text === '') continue
        isEmpty &&= text.trim() === ''
        whole += text
        yield text
      }
      if (!isOver) throw new AnswerFailed('cut off')
      if (isEmpty) throw new AnswerFailed('empty')
      if (isIncomplete) yield cutNote(whole)
    } catch (error) {
      throw this.#failure(error, patience)
    } finally {
      // If the loop only ended, the provider would continue to generate.
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
      config: { systemInstruction: instruction, temperature: 0.2, maxOutputTokens: MAX_TOKENS, abortSignal },
    }
  }

  /** Logs a failure, without the provider's message, which is the raw body of its answer. @returns the error to throw. */
  #failure(error: unknown, patience: Patience): AnswerFailed {
    const failed =
      error instanceof AnswerFailed
        ? error
        : new AnswerFailed(patience.isOver ? 'timeout' : 'provider', { cause: error })
    const { name, status } = error as { name?: string; status?: number }
    const { code, reason } = failed
    if (!patience.isDisconnected)
      this.#options.logger.warn({ code, reason, name, status }, 'Gemini returned no answer')
    return failed
  }
}

/** Cancels a call after a timeout, or if the client disconnects. */
class Patience {
  readonly #over = new AbortController()
  readonly #disconnected: AbortSignal
  readonly #timer: NodeJS.Timeout
  readonly signal: AbortSignal

  constructor(ms: number, disconnected: AbortSignal) {
    this.#disconnected = disconnected
    this.signal = AbortSignal.any([disconnected, this.#over.signal])
    this.#timer = setTimeout(() => {
      this.isOver = true
      this.#over.abort()
    }, ms)
  }

  isOver = false

  get isDisconnected(): boolean {
    return this.#disconnected.aborted
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

/** Returns the text of a response, without the model's thoughts. */
function textOf({ candidates }: GenerateContentResponse): string {
  const parts = candidates?.[0]?.content?.parts ?? []
  return parts.map(({ text, thought }) => (thought === true ? '' : (text ?? ''))).join('')
}

/** The finish reasons of usable answers. One that reached the limit of tokens is usable, but says so. */
const GOOD_ENDS = new Set(['STOP', 'MAX_TOKENS', 'FINISH_REASON_UNSPECIFIED'])
/** Returns the end of an answer that reached the limit of tokens. Code that is not closed would swallow it. */
function cutNote(text: string): string {
  const isInCode = (text.match(/^ {0,3}```/gm) ?? []).length % 2 === 1
  return `${isInCode ? '\n```' : ''}\n\n*The answer was cut off here: it reached the maximum length.*`
}

const isCut = ({ candidates }: GenerateContentResponse): boolean =>
  (candidates?.[0]?.finishReason as string | undefined) === 'MAX_TOKENS'

function endOf({ candidates, promptFeedback }: GenerateContentResponse): FailureReason | undefined {
  if (promptFeedback?.blockReason !== undefined) return 'blocked'
  const reason = candidates?.[0]?.finishReason
  return reason === undefined || GOOD_ENDS.has(reason) ? undefined : 'blocked'
}
