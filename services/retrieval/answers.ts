import type { MessageInitShape } from '@bufbuild/protobuf'
import { coverage } from '../../pipelines/retrieval/evidence.js'
import { hitsOf, marks, type Hit } from '../../pipelines/retrieval/hits.js'
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
  const ids = new Set([...question.terms].flatMap((term) => snapshot.lexicon.find(term) ?? []))
  const found: PageHits[] = []
  let left = limit
  for (const { document, score } of rankPages(snapshot, parsed, terms)) {
    const page = snapshot.pages[document]?.page
    if (page === undefined || left === 0) break
    left--
    const hits = (chunks.get(document) ?? [])
      .flatMap((number) => {
        const [chunk, text] = [snapshot.chunks[number], snapshot.texts[number]]
        return chunk === undefined || text === undefined ? [] : hitsOf(chunk, text, question, ids)
      })
      .slice(0, left)
    left -= hits.length
    const { url, title, breadcrumbs } = page
    const titleMarks = marks(title, question)
    found.push({ url, title, breadcrumbs: [...breadcrumbs], score, titleMarks, hits: hits.map(hitMessage) })
  }
  return found
}

/** Returns the chunks of the best sections of each page, best first. */
function chunksByPage(snapshot: Snapshot, ranked: readonly Ranked[]): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (const { document } of ranked) {
    const page = snapshot.pageOf(document)
    const ofPage = found.get(page)
    if (ofPage === undefined) found.set(page, [document])
    else if (ofPage.length < SECTIONS_SHOWN) ofPage.push(document)
  }
  return found
}

function hitMessage({ kind, headingId, text, marks }: Hit): MessageInitShape<typeof HitSchema> {
  return { kind: kind === 'heading' ? Hit_Kind.HEADING : Hit_Kind.TEXT, headingId, text, marks: [...marks] }
}

/**
 * Returns the best passage of each section, best first, with measures of how well they match. The first sections of the fused ranking
 * are sorted by their similarity too, because ranks do not show how much nearer one is than the next.
 */
export function passages(
  { snapshot, parsed, words, similarity: similarityOf }: EvidenceLookup,
  limit: number,
): Passage[] {
  return rankSections(snapshot, parsed)
    .slice(0, limit)
    .map((ranked) => ({ ...ranked, similarity: similarityOf?.(ranked.document) }))
    .sort((a, b) => b.score * nearness(b.similarity) - a.score * nearness(a.similarity))
    .flatMap(({ document, score, similarity }) => {
      const chunk = snapshot.chunks[document]
      const page = snapshot.pages[snapshot.pageOf(document)]?.page
      if (chunk === undefined || page === undefined) return []
      const { id, headingId, path, markdown } = chunk
      const similarityTo = similarityOf && ((rest?: Float32Array) => similarityOf(document, rest))
      return [
        {
          id,
          pageUrl: page.url,
          pageTitle: page.title,
          headingId,
          headingPath: [...path],
          markdown,
          score,
          ...(similarity === undefined ? {} : { similarity }),
          coverage: coverage(snapshot, words, document, similarityTo),
        },
      ]
    })
}

/** Returns the factor by which a passage's score counts; 1 without a model. */
const nearness = (similarity = 1): number => Math.max(0, similarity) ** 2
