import {
  Hit_Kind,
  Ranking,
  type PageHits,
  type SearchResponse,
  type Span,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { escapeHtml } from '../../design/html.js'
import type { Incoming } from '../http/incoming.js'
import { json, NO_STORE, Refusal, type Reply } from '../http/reply.js'
import type { Retrieval } from './retrieval.js'

/** An item of the search results. */
export interface SearchItem {
  readonly id: string
  readonly type: 'page' | 'heading' | 'text'
  readonly url: string
  /** HTML with the matches in `<mark>` and everything else escaped. */
  readonly content: string
  readonly breadcrumbs?: readonly string[]
}

export const MAX_ITEMS = 60

/** Returns the header of answers that are ranked without embeddings. */
export const lexicalHeader = (ranking: Ranking): Readonly<Record<string, string>> =>
  ranking === Ranking.LEXICAL ? { 'x-retrieval': 'lexical' } : {}

/** Handles `GET /api/search?query=…&limit=…&tag=…&lang=…`. */
export async function search(
  retrieval: Retrieval,
  { query: params, disconnected }: Incoming,
): Promise<Reply> {
  const query = params.get('query') ?? ''
  const limit = limitOf(params.get('limit'))
  if (query.trim() === '') return json([], NO_STORE)
  const [tag, lang] = [params.get('tag') ?? '', params.get('lang') ?? '']
  const result = await retrieval.search({ query, limit, tag, lang }, disconnected)
  return json(searchItems(result, limit), { ...NO_STORE, ...lexicalHeader(result.ranking) })
}

/** Returns pages, each followed by its hits. */
function searchItems({ pages }: Pick<SearchResponse, 'pages'>, limit: number): readonly SearchItem[] {
  return pages.flatMap(itemsOf).slice(0, limit)
}

function itemsOf({ url, title, titleMarks, breadcrumbs, hits }: PageHits): SearchItem[] {
  const above = breadcrumbs.length === 0 ? {} : { breadcrumbs }
  const page: SearchItem = { id: url, type: 'page', url, content: marked(title, titleMarks), ...above }
  const items = hits.map(({ kind, headingId, text, marks }, index): SearchItem => ({
    id: `${url}-${String(index)}`,
    type: kind === Hit_Kind.HEADING ? 'heading' : 'text',
    url: headingId === '' ? url : `${url}#${encodeURI(headingId)}`,
    content: marked(text, marks),
    ...above,
  }))
  return [page, ...items]
}

function limitOf(param: string | null): number {
  if (param === null || param === '') return MAX_ITEMS
  const limit = /^\d{1,4}$/.test(param) ? Number(param) : 0
  if (limit < 1 || limit > MAX_ITEMS)
    throw new Refusal('HW_INVALID_ARGUMENT', `limit must be an integer from 1 to ${String(MAX_ITEMS)}`)
  return limit
}

/** Returns a text as HTML, with its spans in `<mark>`. Spans are in order and do not overlap. */
export function marked(text: string, spans: readonly Pick<Span, 'start' | 'end'>[]): string {
  let html = ''
  let at = 0
  for (const { start, end } of spans) {
    if (start < at || end <= start) continue
    html += `${escapeHtml(text.slice(at, start))}<mark>${escapeHtml(text.slice(start, end))}</mark>`
    at = end
  }
  return html + escapeHtml(text.slice(at))
}
