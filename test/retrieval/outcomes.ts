import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openContent } from '../../pipelines/content/store.js'
import type { Embedder } from '../../pipelines/retrieval/model/embedder.js'
import { Retrieval } from '../../pipelines/retrieval/retrieval.js'
import { unknownNames } from '../../pipelines/retrieval/words/question.js'
import { strengthOf } from '../../services/docs/ask/evidence.js'
import { passages } from '../../services/retrieval/answers.js'
import { SITES, type JudgedAnswer } from './answers.js'

/** As many as the docs service requests. */
const PASSAGES = 8
const quiet = (): void => undefined
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }

/** The outcome of a question without a language model. */
interface Outcome {
  readonly kind: JudgedAnswer['kind']
  readonly question: string
  readonly isAnswered: boolean
  /** True if the first quoted section is one that answers the question. */
  readonly isRight: boolean
  /** The first quoted section, as `file#heading-id`. */
  readonly quoted: string
}

/** Asks judged questions about some of their sites, which are indexed for it. @returns an outcome for each. */
export async function askJudged(
  judged: readonly JudgedAnswer[],
  embedder: Embedder,
  sites: readonly JudgedAnswer['site'][] = ['ai-sdk', 'own'],
): Promise<Map<JudgedAnswer, Outcome>> {
  const outcomes = new Map<JudgedAnswer, Outcome>()
  for (const site of sites)
    await withIndex(SITES[site], embedder, async (retrieval, fileOf) => {
      for (const each of judged.filter((one) => one.site === site)) {
        const { kind, question, answers } = each
        const found = await retrieval.lookUpEvidence(question)
        const quotable = passages(found, PASSAGES)
        const names = unknownNames(found.parsed.question, found.snapshot)
        const fits = quotable.map(({ similarity, coverage = 0 }) => ({ similarity, coverage }))
        const isAnswered = strengthOf(fits, names) === 'good'
        const { pageUrl = '', headingId = '' } = quotable[0] ?? {}
        const quoted = `${fileOf(pageUrl)}#${headingId}`
        const isRight = isAnswered && answers.includes(quoted)
        outcomes.set(each, { kind, question, isAnswered, isRight, quoted })
      }
    })
  return outcomes
}

/** A share of the outcomes. */
interface Share {
  readonly name: string
  readonly value: number
  readonly unit: string
}

/** Returns the shares of answerable questions that are answered by the right section first, and of the others that are declined. */
export function answerFigures(name: string, outcomes: readonly Outcome[]): Share[] {
  const share = (kind: Outcome['kind'], is: (outcome: Outcome) => boolean): number => {
    const ofKind = outcomes.filter((outcome) => outcome.kind === kind)
    return ofKind.filter(is).length / ofKind.length
  }
  const answered = outcomes.filter(({ isAnswered }) => isAnswered)
  const right = answered.filter(({ isRight }) => isRight).length
  return [
    {
      name: `${name}_recall`,
      value: share('answerable', ({ isRight }) => isRight),
      unit: 'share of answerable',
    },
    { name: `${name}_precision`, value: right / answered.length, unit: 'share of answered' },
    {
      name: `${name}_declined_unanswerable`,
      value: share('unanswerable', ({ isAnswered }) => !isAnswered),
      unit: 'share of unanswerable',
    },
    {
      name: `${name}_declined_off_topic`,
      value: share('off-topic', ({ isAnswered }) => !isAnswered),
      unit: 'share of off-topic',
    },
  ]
}

async function withIndex(
  content: string,
  embedder: Embedder,
  use: (retrieval: Retrieval, fileOf: (url: string) => string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-answers-'))
  const library = await openContent(content, { logger })
  const model = { loaded: { embedder, checksum: 'bench' }, reason: '', onLoaded: quiet }
  const retrieval = await Retrieval.open({ library, model, folder, logger })
  try {
    await retrieval.settled()
    await use(retrieval, (url) => library.pages().find((page) => page.url === url)?.file ?? '')
  } finally {
    library.close()
    await retrieval.close()
    await rm(folder, { recursive: true, force: true })
  }
}
