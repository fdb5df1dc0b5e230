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

/** A question as it is ranked. */
export interface ParsedQuery {
  readonly question: Question
  /** Chunks by cosine, nearest first; absent without a model. */
  readonly dense?: readonly Ranked[]
  /** Selects the pages, by number, that may be among the results; all of them if left out. */
  readonly accept?: ((page: number) => boolean) | undefined
}

/** Returns chunks, best first, by BM25 and embeddings combined. */
export function rankChunks(snapshot: Snapshot, parsed: ParsedQuery): Ranked[] {
  const { accept } = parsed
  const ofChunk = accept && ((chunk: number): boolean => accept(snapshot.pageOf(chunk)))
  const near = nearEnough(snapshot, parsed)
  return fuse([
    ...lexicalLegs(snapshot, parsed.question, snapshot.chunkIndex, ofChunk),
    { ranked: near, weight: 1 },
  ])
}

/** Returns pages, best first. BM25 ranks whole pages; by embeddings, a page is as near as its nearest chunk. */
export function rankPages(snapshot: Snapshot, parsed: ParsedQuery): Ranked[] {
  const near = groups(nearEnough(snapshot, parsed), snapshot.pageOf)
  return fuse([
    ...lexicalLegs(snapshot, parsed.question, snapshot.pageIndex, parsed.accept),
    { ranked: near, weight: 1 },
  ])
}

/** Returns the chunks that are similar enough, of pages that may be among the results. */
function nearEnough({ pageOf }: Snapshot, { dense = [], accept = () => true }: ParsedQuery): Ranked[] {
  return dense.filter(({ document, score }) => score >= LEAST_SIMILARITY && accept(pageOf(document)))
}

function lexicalLegs(
  { lexicon }: Snapshot,
  question: Question,
  index: Snapshot['chunkIndex'],
  accept?: (document: number) => boolean,
): Leg[] {
  const ranked = index.rank(weightedTerms(question, lexicon), LEG_DEPTH, accept)
  const deciding = index.rank(decidingTerms(question, lexicon, index), LEG_DEPTH, accept)
  return [
    { ranked, weight: 1 },
    { ranked: deciding, weight: DECIDING_WEIGHT },
  ]
}

/** Returns the share of the question's weight that a chunk contains, 0 to 1. Rare words weigh more; words that no page has, the most. */
export function coverage(snapshot: Snapshot, { tokens }: Question, chunk: number): number {
  const { lexicon, chunkIndex } = snapshot
  let contained = 0
  let total = 0
  for (const { term, parts } of tokens) {
    if (parts > 1) continue
    const id = lexicon.find(term)
    const worth = chunkIndex.idf(id)
    total += worth
    if (snapshot.has(chunk, id)) contained += worth
  }
  return total === 0 ? 0 : contained / total
}
