import type { MessageInitShape } from '@bufbuild/protobuf'
import { coverage } from '../../pipelines/retrieval/evidence.js'
import { hitsOf, marks, type Hit, type TermWeights } from '../../pipelines/retrieval/hits.js'
import type { Snapshot } from '../../pipelines/retrieval/index/snapshot.js'
import type { Ranked } from '../../pipelines/retrieval/ranking.js'
import type { EvidenceLookup, Lookup } from '../../pipelines/retrieval/retrieval.js'
import { expandedTerms, rankPages, rankSections } from '../../pipelines/retrieval/search.js'
import {
  Hit_Kind,
  type HitSchema,
  type PageHitsSchema,
  type PassageSchema,
} from '../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'

type PageHits = MessageInitShape<typeof PageHitsSchema>
type Passage = MessageInitShape<typeof PassageSchema>

/** The maximum number of sections per page that are shown as hits. */
const SECTIONS_SHOWN = 3

/** Returns pages, best first, each with its best hits: at most `limit` pages and hits in total. */
export function pageHits(lookup: Lookup, limit: number): PageHits[] {
  const { snapshot, parsed } = lookup
  const { question } = parsed
  const terms = expandedTerms(snapshot, parsed)
  const chunks = chunksByPage(snapshot, rankSections(snapshot, parsed, terms))
  const ids = [...question.terms].flatMap((term) => snapshot.lexicon.find(term) ?? [])
  const weights = new Map(ids.map((id) => [id, snapshot.chunkIndex.idf(id)]))
  const pages: PageHits[] = []
  let left = limit
  for (const { document, score } of rankPages(snapshot, parsed, terms)) {
    const page = snapshot.pages[document]?.page
    if (page === undefined || left === 0) break
    left--
    const hits = withRarest(snapshot, chunks.get(document) ?? [], weights)
      .flatMap((number) => {
        const [chunk, text] = [snapshot.chunks[number], snapshot.texts[number]]
        return chunk === undefined || text === undefined ? [] : hitsOf(chunk, text, question, weights)
      })
      .slice(0, left)
    left -= hits.length
    const { url, title, breadcrumbs } = page
    const titleMarks = marks(title, question)
    pages.push({ url, title, breadcrumbs: [...breadcrumbs], score, titleMarks, hits: hits.map(hitMessage) })
  }
  return pages
}

/**
 * Returns the first SECTIONS_SHOWN chunks of a page. If none of them contains the rarest of the question's terms on the page, the
 * first chunk with that term replaces the last: otherwise the page would not show why it was found.
 */
function withRarest(snapshot: Snapshot, chunks: readonly number[], weights: TermWeights): number[] {
  const first = chunks.slice(0, SECTIONS_SHOWN)
  let rarest: { weight: number; chunk: number } | undefined
  for (const [term, weight] of weights) {
    const chunk = chunks.find((each) => snapshot.has(each, term))
    if (chunk !== undefined && weight > (rarest?.weight ?? 0))
      rarest = { weight, chunk: first.find((each) => snapshot.has(each, term)) ?? chunk }
  }
  if (rarest === undefined || first.includes(rarest.chunk)) return first
  return [...first.slice(0, SECTIONS_SHOWN - 1), rarest.chunk]
}

/** Returns the chunks of the ranked sections of each page, best first. */
function chunksByPage(snapshot: Snapshot, ranked: readonly Ranked[]): Map<number, number[]> {
  const byPage = new Map<number, number[]>()
  for (const { document } of ranked) {
    const page = snapshot.pageOf(document)
    const ofPage = byPage.get(page)
    if (ofPage === undefined) byPage.set(page, [document])
    else ofPage.push(document)
  }
  return byPage
}

function hitMessage({ kind, headingId, text, marks }: Hit): MessageInitShape<typeof HitSchema> {
  return { kind: kind === 'heading' ? Hit_Kind.HEADING : Hit_Kind.TEXT, headingId, text, marks: [...marks] }
}

/** Headings of a section that states a problem, and of the section beside it with the solution, as on pages about errors. */
const PROBLEM = /^(?:issue|problem|symptom|error)s?$/i
const SOLUTION = /^(?:solution|fix|resolution|workaround)(?:e?s)?$/i
/** Keeps sections apart that contain none of the words. */
const LEAST_COVERAGE = 0.1

/**
 * Returns the best passage of each section that has text, best first, with measures of how well they match. The first sections of the
 * fused ranking are sorted by their similarity and their words too, because ranks do not show how much better
 * one is than the next. Decision 30 has the measurements.
 */
export function passages(lookup: EvidenceLookup, limit: number): Passage[] {
  const { snapshot, parsed } = lookup
  const terms = expandedTerms(snapshot, parsed)
  const ranking = rankSections(snapshot, parsed, terms)
    .flatMap((ranked) => quotable(snapshot, ranked))
    .filter(({ document }) => snapshot.chunks[document]?.markdown.trim() !== '')
    .slice(0, limit)
    .map((ranked) => measured(lookup, ranked))
    .sort((a, b) => b.order - a.order)
    .flatMap(({ document, measures }) => {
      const passage = solutionOf(snapshot, document) ?? document
      const chunk = snapshot.chunks[passage]
      const page = snapshot.pages[snapshot.pageOf(passage)]?.page
      if (chunk === undefined || page === undefined) return []
      const { id, headingId, path, markdown } = chunk
      const { url: pageUrl, title: pageTitle } = page
      return [{ id, pageUrl, pageTitle, headingId, headingPath: [...path], markdown, ...measures }]
    })
  return ranking.filter(({ id }, at) => ranking.findIndex((other) => other.id === id) === at)
}

/** Returns a ranked section, by the text after the description of its page if it is represented by that; nothing if there is none. */
function quotable({ chunks, sectionOf }: Snapshot, ranked: Ranked): Ranked[] {
  const { document, score } = ranked
  if (chunks[document]?.isDescription !== true) return [ranked]
  return sectionOf(document + 1) === sectionOf(document) ? [{ document: document + 1, score }] : []
}

function measured(
  { snapshot, words, similarity: similarityOf }: EvidenceLookup,
  { document, score }: Ranked,
): { document: number; order: number; measures: Pick<Passage, 'score' | 'similarity' | 'coverage'> } {
  const similarity = similarityOf?.(document)
  const similarityTo = similarityOf && ((rest?: Float32Array) => similarityOf(document, rest))
  const near = Math.max(0, similarity ?? 1) ** 2
  const contained = LEAST_COVERAGE + coverage(snapshot, words, document)
  return {
    document,
    order: score * near * Math.sqrt(contained),
    measures: {
      score,
      ...(similarity === undefined ? {} : { similarity }),
      coverage: coverage(snapshot, words, document, similarityTo),
    },
  }
}

/**
 * Returns the first passage under the heading of a solution, if a passage is under the heading of a problem beside it: a question is
 * nearest to the statement of its problem. Both belong together, so the passage gets the measures of the problem.
 */
function solutionOf({ chunks, pageOf }: Snapshot, problem: number): number | undefined {
  const { path } = chunks[problem] ?? { path: [] }
  const [above, page] = [path.slice(0, -1), pageOf(problem)]
  if (!PROBLEM.test(path.at(-1) ?? '')) return undefined
  const at = chunks.findIndex(
    (chunk, number) =>
      pageOf(number) === page &&
      SOLUTION.test(chunk.path[above.length] ?? '') &&
      above.every((heading, level) => chunk.path[level] === heading) &&
      chunk.markdown.trim() !== '',
  )
  return at < 0 ? undefined : at
}
