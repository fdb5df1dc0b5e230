import type { Turn } from './conversation.js'
import type { Evidence, Source } from './evidence.js'
import { Refusal } from './reply.js'

/** A question with what the documentation has on it. */
export interface Question {
  /** The last is the question. */
  readonly turns: readonly Turn[]
  readonly evidence: Evidence
}

/** Who writes answers. They are Markdown and name their sources by number: `[1]`. */
export interface Answerer {
  /** For /health. */
  readonly name: string
  /** The sources that an answer may name; its `[1]` is the first. */
  sources(evidence: Evidence): readonly Source[]
  /** @throws AnswerFailed. */
  answer(question: Question, signal: AbortSignal): Promise<string>
  /** The answer in pieces, as they come. Leaving the loop ends it. @throws AnswerFailed. */
  stream(question: Question, signal: AbortSignal): AsyncIterable<string>
}

const REASONS = {
  provider: 'The answer could not be generated',
  timeout: 'The answer could not be generated in time',
  blocked: 'The answer could not be generated: it was withheld',
  empty: 'The answer could not be generated: the answer was empty',
  'cut off': 'The answer was cut off',
} as const

export type FailureReason = keyof typeof REASONS

/** There is no answer. The message is ours, and fit for the client: nothing of what a provider says is in it. */
export class AnswerFailed extends Refusal {
  constructor(
    readonly reason: FailureReason,
    options?: ErrorOptions,
  ) {
    super('HW_ANSWER_FAILED', REASONS[reason], {}, {}, options)
  }
}

/** What is answered where the documentation has nothing. */
export const DOES_NOT_TELL = 'The documentation does not answer this question: no page is about it.'
