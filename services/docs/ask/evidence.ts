import { Ranking, type Passage } from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import type { Turn } from './conversation.js'
import type { Retrieval } from '../search/retrieval.js'

/** A page that passages come from. */
export interface Source {
  readonly title: string
  /** URL path. */
  readonly url: string
  /** URL path and fragment of its best section. */
  readonly section: string
}

export interface Quotable {
  /** The number of its source, from 1. */
  readonly source: number
  /** Headings above it, outermost first, without the page's title. */
  readonly headings: readonly string[]
  /** URL path and fragment of its section. */
  readonly url: string
  readonly markdown: string
  /** True if it answers the question by itself. */
  readonly answers: boolean
}

/** The passages of the documentation about a question. */
export interface Evidence {
  readonly sources: readonly Source[]
  /** Best first. */
  readonly passages: readonly Quotable[]
  readonly strength: Strength
  readonly ranking: Ranking
}

/** `none`: no passage is about the question. `weak`: a passage may be about it, or only contain its words. */
export type Strength = (typeof STRENGTHS)[number]
const STRENGTHS = ['none', 'weak', 'good'] as const

const MAX_PASSAGES = 8
/** The maximum length of all passages, in characters: a few pages, and far below the limit of a model. */
const MAX_TEXT = 24_000
/** The number of words up to which a question may be a follow-up, whose subject the previous question names. */
const FOLLOW_UP_WORDS = 12

/**
 * Retrieves the passages of the documentation about the last turn.
 * @param lang language of the pages, as a BCP 47 tag; empty for the main one.
 * @throws RetrievalUnavailable.
 */
export async function gatherEvidence(
  retrieval: Retrieval,
  turns: readonly Turn[],
  signal: AbortSignal,
  lang: string,
): Promise<Evidence> {
  const results = await Promise.all(
    queriesOf(turns).map((query) => retrieval.passages(query, MAX_PASSAGES, signal, lang)),
  )
  const strengths = results.map(({ passages, unknownNames }) => strengthOf(passages, unknownNames))
  const strength = STRENGTHS.findLast((each) => strengths.includes(each)) ?? 'none'
  const ranking = results[0]?.ranking ?? Ranking.UNSPECIFIED
  return { ...numbered(interleave(results.map(({ passages }) => passages))), strength, ranking }
}

/** Returns the queries of a conversation: its last question and, if that is short, also both of the last questions together. */
export function queriesOf(turns: readonly Turn[]): readonly string[] {
  const questions = turns.filter(({ role }) => role === 'user').map(({ text }) => text.trim())
  const last = questions.at(-1) ?? ''
  const before = questions.at(-2)
  if (before === undefined || last.split(/\s+/).length > FOLLOW_UP_WORDS) return [last]
  return [last, `${before}\n${last}`]
}

/** Returns the best passage of each list, then the second of each, and so on, without duplicates. */
function interleave(lists: readonly (readonly Passage[])[]): readonly Passage[] {
  const most = Math.max(0, ...lists.map(({ length }) => length))
  const byId = new Map<string, Passage>()
  for (let rank = 0; rank < most; rank++)
    for (const list of lists) {
      const passage = list[rank]
      if (passage !== undefined && !byId.has(passage.id)) byId.set(passage.id, passage)
    }
  return [...byId.values()].slice(0, MAX_PASSAGES)
}

function numbered(passages: readonly Passage[]): Pick<Evidence, 'sources' | 'passages'> {
  const numbers = new Map<string, number>()
  const sources: Source[] = []
  const quotable: Quotable[] = []
  let length = 0
  for (const passage of passages) {
    const { pageUrl, pageTitle, headingId, headingPath, markdown } = passage
    length += markdown.length
    if (length > MAX_TEXT && quotable.length > 0) break
    const url = headingId === '' ? pageUrl : `${pageUrl}#${encodeURI(headingId)}`
    const number = numbers.get(pageUrl) ?? sources.push({ title: pageTitle, url: pageUrl, section: url })
    numbers.set(pageUrl, number)
    const text = markdown.slice(0, MAX_TEXT)
    const fits = answers(passage)
    quotable.push({ source: number, headings: headingPath, url, markdown: text, answers: fits })
  }
  return { sources, passages: quotable }
}

/** Cosine of a passage by all-MiniLM-L6-v2, if there is one, and how much of the question it covers. */
type Fit = Pick<Passage, 'similarity' | 'coverage'>

/** The cosine from which a passage is of the question's subject: unrelated texts have less than 0.2. */
const LEAST_SIMILARITY = 0.3
/** The least sum of cosine and coverage: the nearer a passage, the fewer of the question's words must be in it. Decision 30 has the measurements. */
const LEAST_SUM = 0.925
/** The part of a question that a passage must cover without a model. */
const LEAST_COVERAGE = 0.5
/** The additional sum or coverage if the question has a name that no page contains: the rest of the question must carry it. */
const WITHOUT_NAME = 0.2

/**
 * Returns whether a passage answers a question, as far as words and vectors show. Without a model only words decide.
 * @param lacksName true if the question contains a name that is in no page.
 */
export function answers({ similarity, coverage }: Fit, lacksName = false): boolean {
  const additional = lacksName ? WITHOUT_NAME : 0
  if (similarity === undefined) return coverage >= LEAST_COVERAGE + additional
  return similarity >= LEAST_SIMILARITY && similarity + coverage >= LEAST_SUM + additional
}

/**
 * Returns how well the best passage fits, which is the first one. That a later passage has more of the question's words does not
 * count: among many passages one usually has.
 * @param unknownNames names in the question that no page contains.
 */
export function strengthOf(passages: readonly Fit[], unknownNames: readonly string[] = []): Strength {
  const [best] = passages
  if (best !== undefined && answers(best, unknownNames.length > 0)) return 'good'
  const isNear = ({ similarity = 0, coverage }: Fit): boolean => similarity >= 0.25 || coverage >= 0.2
  return passages.some(isNear) ? 'weak' : 'none'
}
