import { readFileSync } from 'node:fs'

/**
 * A question to a site, written from its pages before the code that answers was changed. `unanswerable` is about the
 * subject of the site, but no page answers it; `off-topic` is about something else.
 */
export interface JudgedAnswer {
  readonly site: keyof typeof SITES
  readonly kind: 'answerable' | 'unanswerable' | 'off-topic'
  readonly question: string
  /** The sections that answer it, each as `file#heading-id`; none if nothing does. */
  readonly answers: readonly string[]
}

/**
 * The folders of the sites: the documentation of the package `ai`, and our own. Like the file of questions they are relative to the
 * root of the project, because the benchmark runs the compiled code, which is in another folder.
 */
export const SITES = { 'ai-sdk': 'node_modules/ai/docs', own: 'content' } as const

/** Reads the judged questions. */
export function judgedAnswers(file = 'answers.jsonl'): JudgedAnswer[] {
  return readFileSync(`test/retrieval/${file}`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ answers: [], ...(JSON.parse(line) as Omit<JudgedAnswer, 'answers'>) }))
}
