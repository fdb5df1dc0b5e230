import type { Content } from '../../../pipelines/content/store.js'
import type { Page } from '../../../pipelines/content/page.js'
import { urlOf } from '../../../pipelines/content/links.js'
import { json, MARKDOWN, PLAIN, Refusal, text, type Reply } from '../http/reply.js'
import type { Endpoint } from '../http/server.js'
import type { Site } from '../http/site.js'
import { requireRead } from '../http/unread.js'
import type { Versioned } from '../http/versioned.js'

export interface PageApiParts {
  readonly content: Content
  readonly cache: Versioned
  readonly site: Site
}

/** Returns the endpoints of the pages as JSON and as Markdown, and of the files that list them. */
export function pageEndpoints({ content, cache, site }: PageApiParts): readonly Endpoint[] {
  const get = (pattern: string, handler: Endpoint['methods']['GET'] & object): Endpoint => ({
    pattern,
    methods: { GET: handler },
  })
  const all = (key: string, type: string, make: () => string): ReturnType<typeof text> => {
    requireRead(content)
    return text(type, ...cache.take(key, make))
  }
  const markdown = (slug: readonly string[]): Reply => markdownReply(requirePage(content, slug))
  return [
    get('/api/docs/*', ({ segments }) => json(detail(requirePage(content, segments.slice(2))))),
    get('/api/docs', () =>
      all('list', json(0).type, () => JSON.stringify({ pages: content.pages().map(summary) })),
    ),
    get('/llms.txt', () => all('llms', PLAIN, () => index(content.pages()))),
    get('/llms-full.txt', () => all('llms-full', PLAIN, () => corpus(content.pages()))),
    get('/llms.mdx/*', ({ segments }) => markdown(segments.slice(1))),
    get('/llms.mdx', () => markdown([])),
    get('/robots.txt', (incoming) => {
      const sitemap = `${site.urlFor(incoming)}/sitemap.xml`
      return text(PLAIN, `User-agent: *\nAllow: /\n\nSitemap: ${sitemap}\n`)
    }),
    get('/sitemap.xml', (incoming) => {
      const base = site.urlFor(incoming)
      return all(`sitemap ${base}`, 'application/xml; charset=utf-8', () => sitemap(content.pages(), base))
    }),
  ]
}

/** Returns the headers that keep crawlers from indexing an unlisted page. */
export const crawlerHeaders = ({ isUnlisted }: Page): Readonly<Record<string, string>> =>
  isUnlisted ? { 'x-robots-tag': 'noindex' } : {}

/** Returns the Markdown of a page. */
export const markdownReply = (page: Page, headers: Readonly<Record<string, string>> = {}): Reply =>
  text(MARKDOWN, page.markdown, { ...headers, ...crawlerHeaders(page) })

/** Returns the page whose Markdown has the path `/docs/<path>.mdx`; undefined for any other path. */
export function markdownOf(content: Content, segments: readonly string[]): Page | undefined {
  const last = segments.at(-1)
  if (segments[0] !== 'docs' || last === undefined || !/\.mdx?$/.test(last)) return undefined
  return findPage(content, [...segments.slice(1, -1), last.replace(/\.mdx?$/, '')])
}

/**
 * Returns the page of a path. A trailing slash and `index` name the page of the folder; the empty path names the root page. If there
 * is none, the path is tried as another site with these files would write it: without `(group)` folders and ordering prefixes.
 */
export function findPage(content: Content, path: readonly string[]): Page | undefined {
  const names = path.at(-1) === '' ? path.slice(0, -1) : path
  const own = content.page(urlOf(names))
  const folder = own ?? (names.at(-1) === 'index' ? content.page(urlOf(names.slice(0, -1))) : undefined)
  // An encoded slash does not separate segments.
  const isPath = names.length > 0 && !names.some((name) => name.includes('/'))
  return folder ?? (isPath ? content.pageByAlias(names.join('/')) : undefined)
}

/** Returns the page of a path. @throws Refusal 404, or 503 if it may not be read yet. */
function requirePage(content: Content, path: readonly string[]): Page {
  const page = findPage(content, path)
  if (page !== undefined) return page
  requireRead(content)
  throw new Refusal('HW_NOT_FOUND', 'Page not found')
}

export const markdownUrl = ({ url }: Page): string => `/llms.mdx${url === '/' ? '/index' : url}`

function summary(page: Page): object {
  const { title, description, url, toc } = page
  return { title, description, url, markdown_url: markdownUrl(page), toc }
}

function detail({ title, description, url, toc, markdown, structuredData }: Page): object {
  return { title, description, url, toc, content: markdown, structuredData }
}

function index(pages: readonly Page[]): string {
  const lines = pages.map(
    ({ title, url, description }) =>
      `- [${inLink(title)}](${url})${description === null ? '' : `: ${description}`}`,
  )
  return `# Documentation\n\n${lines.map((line) => `${line}\n`).join('')}`
}

/** Returns a title as the text of a link, without unescaped characters that would end it. */
const inLink = (title: string): string => title.replace(/[[\]\\]/g, '\\$&').replace(/\s+/g, ' ')

const corpus = (pages: readonly Page[]): string =>
  pages.map(({ title, markdown }) => `# ${title}\n\n${markdown}`).join('\n\n')

function sitemap(pages: readonly Page[], base: string): string {
  const urls = pages.map(({ url }) => `  <url><loc>${xml(base + url)}</loc></url>\n`)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('')}</urlset>\n`
}

const xml = (value: string): string =>
  value
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&apos;')
