import type { Bm25, WeightedTerm } from './words/bm25.js'
import { expand } from './words/expansion.js'
import { decidingTerms, type Question, weightedTerms } from './words/question.js'
import { fuse, groups, type Leg, type Ranked } from './ranking.js'
import type { Snapshot } from './index/snapshot.js'

/** The number of documents of a ranking by words that are fused. */
export const LEG_DEPTH = 200
/** The number of chunks of a ranking by meaning that are fused. Finding them is most of the cost of a search, apart from the model. */
export const NEAR_DEPTH = 128
/** The cosine below which a passage is unrelated to the question. Unrelated English texts have about 0.1. */
const LEAST_SIMILARITY = 0.2
/**
 * The weight of the ranking by deciding terms. A document that has these terms scores more than the other two rankings together
 * can add to one without them.
 */
const DECIDING_WEIGHT = 2
/** The weight of the page or section whose whole title or heading the question is: more than all other rankings can add. */
const HEADED_WEIGHT = 5
/** The number of passages whose words are added to the question. */
const FEEDBACK_PASSAGES = 5

/** A question as it is ranked. */
export interface ParsedQuery {
  readonly question: Question
  /** Chunks by cosine, nearest first; absent without a model. */
  readonly dense?: readonly Ranked[]
  /** Selects the pages, by number, that may be among the results; all of them if left out. */
  readonly accept?: ((page: number) => boolean) | undefined
}

/**
 * Returns the best chunk of each section, best section first, by BM25 and embeddings combined.
 * @param terms of the question, for BM25.
 */
export function rankSections(
  snapshot: Snapshot,
  parsed: ParsedQuery,
  terms = expandedTerms(snapshot, parsed),
): Ranked[] {
  const { sectionOf } = snapshot
  const legs = chunkLegs(snapshot, parsed, terms)
  const best = new Map<number, number>()
  for (const { document } of fuse(legs))
    if (!best.has(sectionOf(document))) best.set(sectionOf(document), document)
  // Sections are fused, not chunks: a section that is first in both rankings by different chunks is first.
  return fuse(legs.map(({ ranked, weight }) => ({ ranked: groups(ranked, sectionOf), weight }))).map(
    ({ document, score }) => ({ document: best.get(document) ?? 0, score }),
  )
}

/**
 * Returns pages, best first. BM25 ranks whole pages; by embeddings, a page is as near as its nearest chunk.
 * @param terms of the question, for BM25.
 */
export function rankPages(
  snapshot: Snapshot,
  parsed: ParsedQuery,
  terms = expandedTerms(snapshot, parsed),
): Ranked[] {
  const near = groups(nearEnough(snapshot, parsed), snapshot.pageOf)
  return fuse([
    ...lexicalLegs(snapshot, parsed.question, { terms, index: snapshot.pageIndex, accept: parsed.accept }),
    { ranked: near, weight: 1 },
    {
      ranked: headed(snapshot, parsed).map(({ document, score }) => ({
        document: snapshot.pageOf(document),
        score,
      })),
      weight: HEADED_WEIGHT,
    },
  ])
}

/** Returns the terms of a question for BM25, and with them the words that distinguish the passages found first. */
export function expandedTerms(snapshot: Snapshot, parsed: ParsedQuery): readonly WeightedTerm[] {
  const terms = weightedTerms(parsed.question, snapshot.lexicon)
  const first = rankSections(snapshot, parsed, terms).slice(0, FEEDBACK_PASSAGES)
  const passages = first.flatMap(({ document, score }) => {
    const bag = snapshot.bagOf(document)
    return bag === undefined ? [] : [{ bag, score }]
  })
  return expand(terms, passages, snapshot)
}

function chunkLegs(snapshot: Snapshot, parsed: ParsedQuery, terms: readonly WeightedTerm[]): Leg[] {
  const { accept } = parsed
  const ofChunk = accept && ((chunk: number): boolean => accept(snapshot.pageOf(chunk)))
  return [
    ...lexicalLegs(snapshot, parsed.question, { terms, index: snapshot.chunkIndex, accept: ofChunk }),
    { ranked: nearEnough(snapshot, parsed), weight: 1 },
    { ranked: headed(snapshot, parsed), weight: HEADED_WEIGHT },
  ]
}

/** Returns the chunk under the title or heading that the question is, if only one page has it. */
function headed(snapshot: Snapshot, { question, accept = () => true }: ParsedQuery): Ranked[] {
  const chunk = snapshot.chunkHeaded(question.text)
  return chunk === undefined || !accept(snapshot.pageOf(chunk)) ? [] : [{ document: chunk, score: 1 }]
}

/** Returns the chunks that are similar enough, of pages that may be among the results. */
function nearEnough({ pageOf }: Snapshot, { dense = [], accept = () => true }: ParsedQuery): Ranked[] {
  return dense.filter(({ document, score }) => score >= LEAST_SIMILARITY && accept(pageOf(document)))
}

interface Lexical {
  readonly terms: readonly WeightedTerm[]
  readonly index: Bm25
  readonly accept?: ((document: number) => boolean) | undefined
}

function lexicalLegs({ lexicon }: Snapshot, question: Question, { terms, index, accept }: Lexical): Leg[] {
  const deciding = decidingTerms(question, lexicon, index)
  return [
    { ranked: index.rank(terms, LEG_DEPTH, accept), weight: 1 },
    { ranked: index.rank(deciding, LEG_DEPTH, accept), weight: DECIDING_WEIGHT },
  ]
}
