/** The number of a document, and its score. */
export interface Ranked {
  readonly document: number
  readonly score: number
}

/** A ranking and its weight in a fusion. */
export interface Leg {
  readonly ranked: readonly Ranked[]
  readonly weight: number
}

/** The constant k of Reciprocal Rank Fusion. The lower, the more the first places of a ranking count. */
const RRF_K = 10

/**
 * Combines rankings by Reciprocal Rank Fusion: Σ weight / (10 + rank), with ranks from 1. The best come first; ties are ordered by
 * number, so the order is deterministic.
 */
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
  const ranking: Ranked[] = []
  // Sorting all scores would cost more than computing them: candidates that can no longer be among the best are dropped.
  let least = 0
  for (let document = 0; document < scores.length; document++) {
    const score = scores[document] ?? 0
    // Documents come in the order of their numbers: of equal scores, the first is kept.
    if (score <= least || !accept(document)) continue
    ranking.push({ document, score })
    if (ranking.length < 2 * most) continue
    ranking.sort(byScore).length = most
    least = ranking.at(-1)?.score ?? Infinity
  }
  return ranking.sort(byScore).slice(0, most)
}

/** Returns the best document of each group, in the order of the ranking, as the number of the group. */
export function groups(ranked: readonly Ranked[], groupOf: (document: number) => number): Ranked[] {
  const best = new Map<number, Ranked>()
  for (const { document, score } of ranked) {
    const group = groupOf(document)
    if (!best.has(group)) best.set(group, { document: group, score })
  }
  return [...best.values()]
}
