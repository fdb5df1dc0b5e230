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

/** Returns the `most` documents with the highest scores above zero, best first; ties by number. */
export function best(
  scores: Float64Array,
  most: number,
  accept: (document: number) => boolean = () => true,
): Ranked[] {
  const found: Ranked[] = []
  // Sorting all would cost more than scoring: what cannot be among the best any more is left out.
  let least = 0
  for (let document = 0; document < scores.length; document++) {
    const score = scores[document] ?? 0
    // Documents come by number: of equals the one that is there stays.
    if (score <= least || !accept(document)) continue
    found.push({ document, score })
    if (found.length < 2 * most) continue
    found.sort(byScore).length = most
    least = found.at(-1)?.score ?? Infinity
  }
  return found.sort(byScore).slice(0, most)
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
