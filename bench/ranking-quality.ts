import type { Embedder } from '../pipelines/retrieval/model/embedder.js'
import { questionOf, weightedTerms } from '../pipelines/retrieval/words/question.js'
import { groups, type Ranked } from '../pipelines/retrieval/ranking.js'
import { LEG_DEPTH, NEAR_DEPTH, rankPages } from '../pipelines/retrieval/search.js'
import { embedChunk } from '../pipelines/retrieval/meaning/chunk-vector.js'
import { SemanticIndex } from '../pipelines/retrieval/meaning/semantic.js'
import { PageIndexer, Snapshot } from '../pipelines/retrieval/index/snapshot.js'
import type { Collection, Judged } from './collection.js'
import type { Figure } from './report.js'

/**
 * Returns nDCG@10, MRR@10 and recall@100 of both searches and of their fusion, and the share of the ten nearest that
 * HNSW finds.
 */
export async function rankingQuality(
  { name, pages, questions }: Collection,
  embedder: Embedder,
): Promise<Figure[]> {
  const indexer = new PageIndexer()
  const snapshot = new Snapshot('1', indexer.index(pages), indexer.lexicon)
  const index = new SemanticIndex()
  await Promise.all(
    index.missing(snapshot.chunks).map(async (chunk) => {
      index.keep(chunk, await embedChunk(embedder, chunk))
    }),
  )
  const view = await index.prepare(snapshot.chunks)
  const vectors = view.labels.map((label) => view.graph.vector(label) ?? new Float32Array())
  const rankings: Record<'bm25' | 'dense' | 'hybrid', Ranked[][]> = { bm25: [], dense: [], hybrid: [] }
  let found = 0
  for (const { text } of questions) {
    const question = questionOf(text, indexer.lexicon)
    const vector = await embedder.question(text)
    const dense = view.near(vector, NEAR_DEPTH)
    rankings.bm25.push(snapshot.pageIndex.rank(weightedTerms(question, snapshot.lexicon), LEG_DEPTH))
    rankings.dense.push(groups(dense, snapshot.pageOf))
    rankings.hybrid.push(rankPages(snapshot, { question, dense }))
    found += shareFound(
      dense.map(({ document }) => document),
      nearest(vectors, vector),
    )
  }
  return [
    ...figuresOf(name, questions, rankings),
    { name: `${name}_hnsw_recall10`, value: found / questions.length, unit: 'share of the exact ten' },
  ]
}

type Measure = 'ndcg10' | 'mrr10' | 'recall100'
const MEASURES: Readonly<
  Record<Measure, (ranked: readonly Ranked[], relevant: ReadonlySet<number>) => number>
> = {
  ndcg10: (ranked, relevant) => {
    const gain = (at: number): number => 1 / Math.log2(at + 2)
    const got = ranked
      .slice(0, 10)
      .reduce((sum, { document }, at) => sum + (relevant.has(document) ? gain(at) : 0), 0)
    const best = Array.from({ length: Math.min(10, relevant.size) }, (_, at) => gain(at))
    return got / best.reduce((sum, each) => sum + each, 0)
  },
  mrr10: (ranked, relevant) => {
    const at = ranked.slice(0, 10).findIndex(({ document }) => relevant.has(document))
    return at < 0 ? 0 : 1 / (at + 1)
  },
  recall100: (ranked, relevant) =>
    ranked.slice(0, 100).filter(({ document }) => relevant.has(document)).length / relevant.size,
}

function figuresOf(
  name: string,
  questions: readonly Judged[],
  rankings: Readonly<Record<string, Ranked[][]>>,
): Figure[] {
  const mean = (leg: string, measure: Measure): number =>
    questions.reduce(
      (sum, { relevant }, at) => sum + MEASURES[measure](rankings[leg]?.[at] ?? [], relevant),
      0,
    ) / questions.length
  return (['ndcg10', 'mrr10', 'recall100'] as const).flatMap((measure) =>
    Object.keys(rankings).map((leg) => {
      const value = mean(leg, measure)
      const figure = { name: `${name}_${leg}_${measure}`, value, unit: measure }
      if (leg !== 'hybrid') return figure
      const baseline = Math.max(mean('bm25', measure), mean('dense', measure))
      return { ...figure, baseline, ratio: value / baseline }
    }),
  )
}

/** Returns the ten nearest, by comparing all. */
export function nearest(vectors: readonly Float32Array[], vector: Float32Array): number[] {
  const cosine = (other: Float32Array): number =>
    other.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0)
  const ranked = vectors.map((other, number) => ({ number, score: cosine(other) }))
  return ranked
    .sort((a, b) => b.score - a.score)
    .slice(0, 10)
    .map(({ number }) => number)
}

/** Returns the number of wanted documents among as many first results. */
export function shareFound(found: readonly number[], wanted: readonly number[]): number {
  const first = new Set(found.slice(0, wanted.length))
  return wanted.filter((each) => first.has(each)).length / wanted.length
}
