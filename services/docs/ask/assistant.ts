import { AnswerFailed, NO_ANSWER, type Answerer, type Question } from './answerer.js'
import type { Turn } from './conversation.js'
import { gatherEvidence, type Evidence, type Source } from './evidence.js'
import { RetrievalUnavailable, type Retrieval } from '../search/retrieval.js'

export interface AssistantParts {
  readonly retrieval: Retrieval
  readonly answerer: Answerer
  /** Called with the outcome of each question. */
  readonly outcome: (outcome: string) => void
}

export interface Answered {
  readonly answer: string
  /** The sources that the answer cites; its `[1]` is the first. */
  readonly sources: readonly Source[]
  readonly evidence: Evidence
}

export interface Streamed {
  /** The sources that the answer may cite; its `[1]` is the first. */
  readonly sources: readonly Source[]
  readonly evidence: Evidence
  /** The parts of the answer, the first of which has arrived. */
  readonly text: AsyncIterable<string>
}

/** Answers questions from the documentation. It throws AnswerFailed, or any error if the client has disconnected. */
export class Assistant {
  readonly #parts: AssistantParts

  constructor(parts: AssistantParts) {
    this.#parts = parts
  }

  /** Answers one question. @param lang language of the pages, as a BCP 47 tag; empty for the main one. */
  async ask(text: string, signal: AbortSignal, lang: string): Promise<Answered> {
    const question = await this.#question([{ role: 'user', text }], signal, lang)
    const { evidence } = question
    if (evidence.strength === 'none') return { answer: this.#nothing(), sources: [], evidence }
    const answer = await this.#counted(() => this.#parts.answerer.answer(question, signal))
    this.#parts.outcome('answered')
    return { ...cite(answer, evidence), evidence }
  }

  /** Resolves with the first part of the answer, so that an earlier failure can be reported by the HTTP status. */
  async chat(turns: readonly Turn[], signal: AbortSignal, lang: string): Promise<Streamed> {
    const question = await this.#question(turns, signal, lang)
    const { evidence } = question
    const isNothing = evidence.strength === 'none' && turns.length === 1
    if (isNothing) return { sources: [], evidence, text: once(this.#nothing()) }
    const pieces = this.#parts.answerer.stream(question, signal)[Symbol.asyncIterator]()
    const first = await this.#counted(() => pieces.next())
    const { outcome } = this.#parts
    const text = (async function* () {
      try {
        for (let piece = first; piece.done !== true; piece = await pieces.next()) yield piece.value
        outcome('answered')
      } catch (error) {
        outcome(outcomeOf(error))
        throw error
      } finally {
        await pieces.return?.()
      }
    })()
    return { sources: this.#parts.answerer.sources(evidence), evidence, text }
  }

  async #question(turns: readonly Turn[], signal: AbortSignal, lang: string): Promise<Question> {
    const evidence = await this.#counted(() => gatherEvidence(this.#parts.retrieval, turns, signal, lang))
    return { turns, evidence }
  }

  #nothing(): string {
    this.#parts.outcome('not answered')
    return NO_ANSWER
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#parts.outcome(outcomeOf(error))
      if (error instanceof RetrievalUnavailable) throw new AnswerFailed('provider', { cause: error })
      throw error
    }
  }
}

function outcomeOf(error: unknown): string {
  if (error instanceof RetrievalUnavailable) return 'retrieval unavailable'
  return error instanceof AnswerFailed ? error.reason : 'failed'
}

async function* once(text: string): AsyncGenerator<string> {
  yield text
}

const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/
const CITATION = /( ?)\[(\d{1,2}(?:\s*,\s*\d{1,2})*)\](?!\()/g
const NOT_COVERED = /\bdocumentation does(?: not|n['’]t) (?:tell|say|mention|cover|contain|answer|provide)/i

/**
 * Returns the sources that an answer cites, in the order of its citations, and the answer with their new numbers; numbers without
 * a source are removed. An answer without citations gets all sources, unless it says that the documentation has no answer.
 */
function cite(answer: string, { sources }: Evidence): Pick<Answered, 'answer' | 'sources'> {
  const numbers = new Map<number, number>()
  const renumber = (_: string, space: string, list: string): string => {
    const ids = list
      .split(',')
      .map(Number)
      .filter((number) => number >= 1 && number <= sources.length)
    for (const number of ids) if (!numbers.has(number)) numbers.set(number, numbers.size + 1)
    return ids.length === 0 ? '' : space + ids.map((number) => `[${String(numbers.get(number))}]`).join('')
  }
  // Numbers in code are not citations. Every second part is code.
  const renumbered = answer
    .split(CODE)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(CITATION, renumber)))
    .join('')
  const cited = [...numbers.keys()].flatMap((number) => sources[number - 1] ?? [])
  if (cited.length > 0) return { answer: renumbered, sources: cited }
  return { answer: renumbered, sources: NOT_COVERED.test(answer) ? [] : sources }
}
