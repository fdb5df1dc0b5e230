import type { Turn } from './conversation.js'
import type { Evidence, Source } from './evidence.js'
import { Refusal } from '../http/reply.js'

/** A question, with what the documentation contains about it. */
export interface Question {
  /** The conversation. Its last turn is the question. */
  readonly turns: readonly Turn[]
  readonly evidence: Evidence
}

/** A writer of answers, which are Markdown and cite their sources by number: `[1]`. */
export interface Answerer {
  /** Name of the answerer in /health. */
  readonly name: string
  /** Returns the sources that an answer may cite; its `[1]` is the first. */
  sources(evidence: Evidence): readonly Source[]
  /** Returns the whole answer. @throws AnswerFailed. */
  answer(question: Question, signal: AbortSignal): Promise<string>
  /** Yields the parts of the answer as they arrive. Leaving the loop cancels it. @throws AnswerFailed. */
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

/** Thrown if there is no answer. The client may read the message, which contains nothing of the provider's own error. */
export class AnswerFailed extends Refusal {
  constructor(
    readonly reason: FailureReason,
    options?: ErrorOptions,
  ) {
    super('HW_ANSWER_FAILED', REASONS[reason], {}, {}, options)
  }
}

/** The answer if the documentation contains nothing about the question. */
export const NO_ANSWER = 'The documentation does not answer this question: no page is about it.'
