import type { Page } from '../../../pipelines/content/page.js'
import type { Assets } from '../http/assets.js'
import type { Bodies } from './bodies.js'
import { prefersMarkdown, type Incoming } from '../http/incoming.js'
import { layout, type AnswersAre, type Frame } from './layout.js'
import { crawlerHeaders, findPage, markdownOf, markdownReply, type PageApiParts } from './page-api.js'
import { pictureOf } from './picture.js'
import { HTML, NO_STORE, Refusal, text, type Reply } from '../http/reply.js'
import type { Endpoint } from '../http/server.js'
import { BEING_READ, requireRead, retryAfter } from '../http/unread.js'
import { html } from '../../design/html.js'

export interface ReaderParts extends PageApiParts {
  readonly assets: Assets
  readonly bodies: Bodies
  /** The folder of the content. */
  readonly contentDir: string
  readonly answersAre: AnswersAre
}

/** The headers of pages. Their scripts and styles are our own files, and they load nothing from other hosts. */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  vary: 'Accept',
} as const

/** Returns the endpoint of the pages as HTML or, if the request prefers it, Markdown. It also handles all unknown paths. */
export function readerEndpoint(parts: ReaderParts): Endpoint {
  const { content } = parts
  return {
    pattern: '*',
    methods: { GET: (incoming) => read(parts, incoming) },
    exists: ({ segments }) => {
      const exists = (markdownOf(content, segments) ?? findPage(content, segments)) !== undefined
      if (!exists) requireRead(content)
      return exists
    },
  }
}

async function read(parts: ReaderParts, incoming: Incoming): Promise<Reply> {
  const { content } = parts
  const { segments } = incoming
  const asMarkdown = markdownOf(content, segments)
  if (asMarkdown !== undefined) return markdownReply(asMarkdown)
  const page = findPage(content, segments)
  const [first] = content.isComplete ? content.pages() : []
  // A temporary redirect, because a root page may be added.
  if (page === undefined && first !== undefined && segments.join('/') === '')
    return { ...moved(first), status: 307 }
  if (page === undefined) return missing(parts, incoming)
  if (incoming.req.url !== page.url && `/${segments.map(encodeURIComponent).join('/')}` !== page.url)
    return moved(page)
  if (prefersMarkdown(incoming.header('accept'))) return markdownReply(page, { vary: 'Accept' })
  const body = await parts.bodies.of(page)
  const frame = frameOf(parts, incoming)
  const picture = page.url === '/' ? await pictureOf(parts.contentDir, page) : undefined
  const key = `page ${page.hash} ${frame.base} ${picture?.url ?? ''}`
  const [document, headers] = parts.cache.take(key, () => {
    return layout(frame, { page, title: page.title, body, picture })
  })
  return text(HTML, document, { ...headers, ...PAGE_HEADERS, ...crawlerHeaders(page) })
}

/** Redirects to the only URL of a page, without a trailing slash and `index`. The target is a path, never another host. */
function moved({ url }: Page): Reply {
  return { ...text(HTML, ''), status: 308, headers: { location: url, 'cache-control': 'no-cache' } }
}

function missing(parts: ReaderParts, incoming: Incoming): Reply {
  const { content } = parts
  const { segments } = incoming
  const [top, ...rest] = segments
  if (top === 'api' || /\.mdx?$/.test(segments.at(-1) ?? '')) {
    if (top !== 'api') requireRead(content)
    throw new Refusal('HW_NOT_FOUND', 'Not Found')
  }
  const page = top === 'docs' ? findPage(content, rest) : undefined
  if (page !== undefined) return moved(page)
  if (!content.isComplete) return unread(parts, incoming)
  const title = content.pages().length === 0 ? 'No pages yet' : 'Page not found'
  const body = html`<p>There is no page at this address. Use the search to find a page.</p>`
  const reply = text(HTML, layout(frameOf(parts, incoming), { title, body }), PAGE_HEADERS)
  return { ...reply, status: 404 }
}

/** Returns the answer for a page that may not be read yet. */
function unread(parts: ReaderParts, incoming: Incoming): Reply {
  const { done, total } = parts.content.progress
  const body = html`<p>${String(done)} of ${String(total)} are read. Try again in a moment.</p>`
  const reply = text(HTML, layout(frameOf(parts, incoming), { title: BEING_READ, body }), PAGE_HEADERS)
  return { ...reply, status: 503, headers: { ...reply.headers, ...NO_STORE, ...retryAfter(parts.content) } }
}

function frameOf({ content, assets, site, answersAre }: ReaderParts, incoming: Incoming): Frame {
  const base = site.urlFor(incoming)
  const explorerUrl = site.explorerUrl(base)
  const { sourceUrl, name } = site
  const { defaultLanguage: lang } = content
  return { pages: content.pages(), assets, base, name, sourceUrl, explorerUrl, answersAre, lang }
}
