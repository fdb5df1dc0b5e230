/** A document by its number, and how well it answers. */
export interface Ranked {
  readonly document: number
  readonly score: number
}

/** A ranking with its weight in a fusion. */
export interface Leg {
  readonly ranked: readonly Ranked[]
  readonly weight: number
}

/** Of Reciprocal Rank Fusion, from the paper that proposed it (Cormack, Clarke, Büttcher 2009). */
const RRF_K = 60

/** Reciprocal Rank Fusion: Σ weight / (60 + rank), ranks from 1. Best first; ties by number, so that the order is always the same. */
export function fuse(legs: readonly Leg[]): Ranked[] {
  const scores = new Map<number, number>()
  for (const { ranked, weight } of legs) {
    for (const [index, { document }] of ranked.entries())
      scores.set(document, (scores.get(document) ?? 0) + weight / (RRF_K + index + 1))
  }
  return [...scores].map(([document, score]) => ({ document, score })).sort(byScore)
}

const byScore = (a: Ranked, b: Ranked): number => b.score - a.score || a.document - b.document

/** The `most` documents with the highest scores above zero, best first; ties by number. A heap: sorting all would cost more than scoring. */
export function best(
  scores: Float64Array,
  most: number,
  accept: (document: number) => boolean = () => true,
): Ranked[] {
  const heap: Ranked[] = []
  for (let document = 0; document < scores.length; document++) {
    const score = scores[document] ?? 0
    if (score <= 0 || most === 0) continue
    // Documents come by number: of equals the one that is there stays.
    if (heap.length === most && score <= (heap[0]?.score ?? 0)) continue
    if (!accept(document)) continue
    if (heap.length < most) rise(heap, { document, score })
    else sink(heap, { document, score })
  }
  return heap.sort(byScore)
}

/** Puts one more into the heap, whose top is the worst. */
function rise(heap: Ranked[], added: Ranked): void {
  let at = heap.push(added) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent]
    if (above === undefined || byScore(above, added) > 0) break
    heap[at] = above
    at = parent
  }
  heap[at] = added
}

/** Puts one in the place of the worst. */
function sink(heap: Ranked[], added: Ranked): void {
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    const [left, right] = [heap[child], heap[child + 1]]
    if (left === undefined) break
    if (right !== undefined && byScore(right, left) > 0) child++
    const lower = heap[child]
    if (lower === undefined || byScore(lower, added) < 0) break
    heap[at] = lower
    at = child
  }
  heap[at] = added
}

/** The first of each group, in the order of the ranking. */
export function groups(ranked: readonly Ranked[], groupOf: (document: number) => number): Ranked[] {
  const seen = new Map<number, Ranked>()
  for (const { document, score } of ranked) {
    const group = groupOf(document)
    if (!seen.has(group)) seen.set(group, { document: group, score })
  }
  return [...seen.values()]
}
