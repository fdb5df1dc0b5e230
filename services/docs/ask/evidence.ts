import { Ranking, type Passage } from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import type { Turn } from './conversation.js'
import type { Retrieval } from '../search/retrieval.js'

/** A page that passages are of. */
export interface Source {
  readonly title: string
  /** URL path. */
  readonly url: string
}

export interface Quotable {
  /** The number of its source, from 1. */
  readonly source: number
  /** Headings above it, outermost first, without the page's title. */
  readonly headings: readonly string[]
  readonly markdown: string
}

/** What the documentation has on a question. */
export interface Evidence {
  readonly sources: readonly Source[]
  /** Best first. */
  readonly passages: readonly Quotable[]
  readonly strength: Strength
  readonly ranking: Ranking
}

/** `none`: nothing there is about the question. `weak`: it may be, or only mention its words. */
export type Strength = (typeof STRENGTHS)[number]
const STRENGTHS = ['none', 'weak', 'good'] as const

const MOST_PASSAGES = 8
/** Characters; a few pages' worth, and far from what a model takes. */
const MOST_TEXT = 24_000
/** What a follow-up is about stands in the question before it. */
const FOLLOW_UP_WORDS = 12

/**
 * Asks the retrieval worker what the documentation has on the last turn.
 * @throws RetrievalAway.
 */
export async function gatherEvidence(
  retrieval: Retrieval,
  turns: readonly Turn[],
  signal: AbortSignal,
): Promise<Evidence> {
  const found = await Promise.all(
    queriesOf(turns).map((query) => retrieval.passages(query, MOST_PASSAGES, signal)),
  )
  const strengths = found.map(({ passages, unknownNames }) => strengthOf(passages, unknownNames))
  const strength = STRENGTHS.findLast((each) => strengths.includes(each)) ?? 'none'
  const ranking = found[0]?.ranking ?? Ranking.UNSPECIFIED
  return { ...numbered(interleave(found.map(({ passages }) => passages))), strength, ranking }
}

/** The last question; and a short one again behind the question before it. */
export function queriesOf(turns: readonly Turn[]): readonly string[] {
  const questions = turns.filter(({ role }) => role === 'user').map(({ text }) => text.trim())
  const last = questions.at(-1) ?? ''
  const before = questions.at(-2)
  if (before === undefined || last.split(/\s+/).length > FOLLOW_UP_WORDS) return [last]
  return [last, `${before}\n${last}`]
}

/** The best of each list, then the second of each, none twice. */
function interleave(lists: readonly (readonly Passage[])[]): readonly Passage[] {
  const most = Math.max(0, ...lists.map(({ length }) => length))
  const byId = new Map<string, Passage>()
  for (let rank = 0; rank < most; rank++)
    for (const list of lists) {
      const passage = list[rank]
      if (passage !== undefined && !byId.has(passage.id)) byId.set(passage.id, passage)
    }
  return [...byId.values()].slice(0, MOST_PASSAGES)
}

function numbered(passages: readonly Passage[]): Pick<Evidence, 'sources' | 'passages'> {
  const numbers = new Map<string, number>()
  const sources: Source[] = []
  const quotable: Quotable[] = []
  let length = 0
  for (const { pageUrl, pageTitle, headingPath, markdown } of passages) {
    length += markdown.length
    if (length > MOST_TEXT && quotable.length > 0) break
    const number = numbers.get(pageUrl) ?? sources.push({ title: pageTitle, url: pageUrl })
    numbers.set(pageUrl, number)
    quotable.push({ source: number, headings: headingPath, markdown: markdown.slice(0, MOST_TEXT) })
  }
  return { sources, passages: quotable }
}

/** Of a passage: the cosine of all-MiniLM-L6-v2, where there is one, and the share of the question's rare words. */
type Fit = Pick<Passage, 'similarity' | 'coverage'>
type KnownFit = Record<keyof Fit, number>

/**
 * What makes a passage fit: the farther it is in meaning, the more of the rare words it must have. Texts of unrelated subjects are
 * alike by less than .2; half of the rare words in one passage is no chance, unless its meaning is another one: words have
 * several. Beyond .45 words matter no more: the right page may share none with the question.
 */
const FITTING: readonly KnownFit[] = [
  { similarity: 0.45, coverage: 0 },
  { similarity: 0.4, coverage: 0.3 },
  { similarity: 0.2, coverage: 0.5 },
  { similarity: 0.1, coverage: 1 },
]

/**
 * How well the best passage fits.
 * @param unknownNames in the question: passages that are near it are not about what nobody has written of.
 */
export function strengthOf(passages: readonly Fit[], unknownNames: readonly string[] = []): Strength {
  const is = (fits: (passage: KnownFit) => boolean): boolean =>
    // Without a model words decide alone.
    passages.some(({ similarity = 0.2, coverage }) => fits({ similarity, coverage }))
  const fits = ({ similarity, coverage }: KnownFit): boolean =>
    FITTING.some((least) => similarity >= least.similarity && coverage >= least.coverage)
  if (unknownNames.length === 0 && is(fits)) return 'good'
  return is(({ similarity, coverage }) => similarity >= 0.25 || coverage >= 0.2) ? 'weak' : 'none'
}
