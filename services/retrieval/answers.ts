import type { MessageInitShape } from '@bufbuild/protobuf'
import { hitsOf, marks, type Hit } from '../../pipelines/retrieval/hits.js'
import type { Lookup } from '../../pipelines/retrieval/retrieval.js'
import { coverage, rankChunks, rankPages } from '../../pipelines/retrieval/search.js'
import {
  Hit_Kind,
  type HitSchema,
  type PageHitsSchema,
  type PassageSchema,
} from '../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'

type PageHits = MessageInitShape<typeof PageHitsSchema>
type Passage = MessageInitShape<typeof PassageSchema>

/** The maximum number of chunks per page that are shown as hits. */
const CHUNKS_SHOWN = 3

/** Returns pages, best first, each with its best hits: at most `limit` pages and hits in total. */
export function pageHits(lookup: Lookup, limit: number): PageHits[] {
  const { snapshot, parsed } = lookup
  const { question } = parsed
  const chunks = bestChunks(lookup)
  const ids = new Set([...question.terms].flatMap((term) => snapshot.lexicon.find(term) ?? []))
  const found: PageHits[] = []
  let left = limit
  for (const { document, score } of rankPages(snapshot, parsed)) {
    const page = snapshot.pages[document]?.page
    if (page === undefined || left === 0) break
    left--
    const hits = (chunks.get(document) ?? [])
      .flatMap((number) => {
        const [chunk, text] = [snapshot.chunks[number], snapshot.texts[number]]
        return chunk === undefined || text === undefined ? [] : hitsOf(chunk, text, question, ids)
      })
      .filter(isFirst)
      .slice(0, left)
    left -= hits.length
    const { url, title, breadcrumbs } = page
    const titleMarks = marks(title, question)
    found.push({ url, title, breadcrumbs: [...breadcrumbs], score, titleMarks, hits: hits.map(hitMessage) })
  }
  return found
}

/** Returns the best chunks of each page, best first. */
function bestChunks({ snapshot, parsed }: Lookup): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (const { document } of rankChunks(snapshot, parsed)) {
    const page = snapshot.pageOf(document)
    const ofPage = found.get(page)
    if (ofPage === undefined) found.set(page, [document])
    else if (ofPage.length < CHUNKS_SHOWN) ofPage.push(document)
  }
  return found
}

/** Returns whether a hit occurs for the first time: two chunks under one heading would both name it. */
function isFirst(hit: Hit, at: number, hits: readonly Hit[]): boolean {
  return hits.findIndex(({ headingId, text }) => headingId === hit.headingId && text === hit.text) === at
}

function hitMessage({ kind, headingId, text, marks }: Hit): MessageInitShape<typeof HitSchema> {
  return { kind: kind === 'heading' ? Hit_Kind.HEADING : Hit_Kind.TEXT, headingId, text, marks: [...marks] }
}

/** Returns passages, best first, with measures of how well they match. */
export function passages({ snapshot, parsed, similarity: similarityOf }: Lookup, limit: number): Passage[] {
  return rankChunks(snapshot, parsed)
    .slice(0, limit)
    .flatMap(({ document, score }) => {
      const chunk = snapshot.chunks[document]
      const page = snapshot.pages[snapshot.pageOf(document)]?.page
      if (chunk === undefined || page === undefined) return []
      const { id, headingId, path, markdown } = chunk
      const similarity = similarityOf?.(document)
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
          coverage: coverage(snapshot, parsed.question, document),
        },
      ]
    })
}
