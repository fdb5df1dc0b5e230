import { decidingTerms, type Question, weightedTerms } from './words/question.js'
import { fuse, groups, type Leg, type Ranked } from './ranking.js'
import type { Snapshot } from './index/snapshot.js'

/** How many documents of a ranking by words are fused. */
export const LEG_DEPTH = 200
/** And of one by meaning: finding them is the larger part of what a search costs besides the model. */
export const NEAR_DEPTH = 128
/** Cosine below which a passage has nothing to do with the question: unrelated English texts have about 0.1. */
const LEAST_SIMILARITY = 0.2
/** Of the ranking of those that have what decides: more than the other two together can give to one that has not. */
const DECIDING_WEIGHT = 2

/** What a question is ranked by. */
export interface ParsedQuery {
  readonly question: Question
  /** Chunks by cosine, nearest first; absent without a model. */
  readonly dense?: readonly Ranked[]
  /** Whether a page, by its number, may be among the results; all may where left out. */
  readonly accept?: ((page: number) => boolean) | undefined
}

/** Chunks, best first: BM25 and embeddings, fused. */
export function rankChunks(snapshot: Snapshot, parsed: ParsedQuery): Ranked[] {
  const { accept } = parsed
  const ofChunk = accept && ((chunk: number): boolean => accept(snapshot.pageOf(chunk)))
  const near = nearEnough(snapshot, parsed)
  return fuse([
    ...lexicalLegs(snapshot, parsed.question, snapshot.chunkIndex, ofChunk),
    { ranked: near, weight: 1 },
  ])
}

/** Pages, best first. A page as a whole is a document of BM25; by embeddings it is as near as its nearest chunk. */
export function rankPages(snapshot: Snapshot, parsed: ParsedQuery): Ranked[] {
  const near = groups(nearEnough(snapshot, parsed), snapshot.pageOf)
  return fuse([
    ...lexicalLegs(snapshot, parsed.question, snapshot.pageIndex, parsed.accept),
    { ranked: near, weight: 1 },
  ])
}

/** The chunks near enough of the pages that may be among the results. */
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

/** How much of the question's weight a chunk holds, 0 to 1: a word counts the more, the rarer it is; one that no page has, the most. */
export function coverage(snapshot: Snapshot, { tokens }: Question, chunk: number): number {
  const { lexicon, chunkIndex } = snapshot
  let held = 0
  let whole = 0
  for (const { term, parts } of tokens) {
    if (parts > 1) continue
    const id = lexicon.find(term)
    const worth = chunkIndex.idf(id)
    whole += worth
    if (snapshot.has(chunk, id)) held += worth
  }
  return whole === 0 ? 0 : held / whole
}
