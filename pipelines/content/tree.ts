import { LinkTargets, orderOf, segmentsOf, urlOf, withLinks, type Target } from './links.js'
import { hashOf, type Draft, type FileError, type Finding, type Page, type Texts, withTexts } from './page.js'

/** A file and the draft of its page. */
export interface Drafted {
  readonly file: string
  readonly draft: Draft
}

interface Placed extends Drafted {
  readonly segments: readonly string[]
  readonly title: string
}

/** The pages of a folder. */
export interface PlacedPages {
  readonly pages: readonly Page[]
  readonly targets: LinkTargets
  readonly errors: readonly FileError[]
  readonly findings: readonly Finding[]
}

/**
 * Returns the pages of all drafts with their URLs, breadcrumbs and links, in the order of a table of contents: the page of a folder,
 * then its contents by `order` or the number in front of the name, and by name. If two files have the same URL, the first file is
 * served and the second file is reported as an error.
 */
export function placePages(drafted: readonly Drafted[]): PlacedPages {
  const errors: FileError[] = []
  const byUrl = new Map<string, Placed>()
  for (const each of drafted.map(place).sort(indexFirst)) {
    const url = urlOf(each.segments)
    const other = byUrl.get(url)
    if (other === undefined) byUrl.set(url, each)
    else errors.push({ file: each.file, line: 1, message: `${other.file} already has the URL ${url}` })
  }
  const keys = new Map([...byUrl].map(([url, page]) => [url, sortKey(page, byUrl)]))
  const ordered = [...byUrl].sort(([a], [b]) => compareKeys(keys.get(a) ?? [], keys.get(b) ?? []))
  const targets = new LinkTargets(ordered.map(([url, placed]) => targetOf(url, placed)))
  const all = ordered.map(([url, placed]) => pageOf(url, placed, byUrl, targets))
  return {
    pages: all.map(({ page }) => page),
    targets,
    errors,
    findings: all.flatMap(({ findings }) => findings),
  }
}

const targetOf = (url: string, { file, draft: { toc, ids } }: Placed): Target => ({ url, file, toc, ids })

function place({ file, draft }: Drafted): Placed {
  const segments = segmentsOf(file)
  const name = segments.at(-1)
  return {
    file,
    draft,
    segments,
    title: draft.title ?? (name === undefined ? 'Documentation' : readable(name)),
  }
}

const isIndex = ({ file }: Placed): boolean => /(^|\/)index\.mdx?$/.test(file)

const indexFirst = (a: Placed, b: Placed): number =>
  Number(isIndex(b)) - Number(isIndex(a)) || (a.file < b.file ? -1 : 1)

/**
 * Returns a title for a file name: `getting-started` → `Getting started`. A leading number, as in decisions, and the parentheses of a
 * group are left out.
 */
export function readable(name: string): string {
  const words = name
    .replace(/^\((.*)\)$/, '$1')
    .replace(/^\d+[-_. ]+(?=\D)/, '')
    .replace(/[-_]+/g, ' ')
    .trim()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}

interface PlacedPage {
  readonly key: string
  readonly page: Page
  readonly findings: readonly Finding[]
}

/** The last page of each draft, reused while the draft, its titles and its links are unchanged, as most are when a file changes. */
const lastOf = new WeakMap<Draft, PlacedPage>()

function pageOf(
  url: string,
  placed: Placed,
  byUrl: ReadonlyMap<string, Placed>,
  targets: LinkTargets,
): PlacedPage {
  const { file, segments, title, draft } = placed
  const breadcrumbs = segments.slice(0, -1).map((name, depth) => {
    return byUrl.get(urlOf(segments.slice(0, depth + 1)))?.title ?? readable(name)
  })
  const target = targetOf(url, placed)
  const resolved = draft.links.map((link) => targets.resolve(link, target))
  const urls = resolved.map((link) => link.url)
  const key = JSON.stringify([file, title, breadcrumbs, urls])
  const last = lastOf.get(draft)
  const page = last?.key === key ? last.page : linkedPage({ url, file, title, breadcrumbs, draft, urls })
  const findings = [...draft.findings, ...resolved.flatMap(({ finding }) => finding ?? [])]
  const result = { key, page, findings }
  lastOf.set(draft, result)
  return result
}

interface Parts extends Pick<Page, 'url' | 'file' | 'title' | 'breadcrumbs'> {
  readonly draft: Draft
  readonly urls: readonly string[]
}

function linkedPage({ url, file, title, breadcrumbs, draft, urls }: Parts): Page {
  const { description, tags, toc } = draft
  const slug = segmentsOf(file).join('/')
  const hash = hashOf([url, file, title, breadcrumbs, urls, draft.hash])
  const page = { url, slug, file, title, description, tags, breadcrumbs, toc, hash }
  return withTexts(page, () => linkedTexts(draft, urls))
}

/** Returns the texts of a draft with the URLs of its links. */
function linkedTexts({ markdown, marked, structuredData, sections }: Texts, urls: readonly string[]): Texts {
  const linked = (text: string): string => withLinks(text, urls)
  const { headings, contents } = structuredData
  return {
    markdown: linked(markdown),
    marked: marked === undefined ? undefined : linked(marked),
    structuredData: {
      headings,
      contents: contents.map(({ heading, content }) => ({ heading, content: linked(content) })),
    },
    sections: sections.map((section) => ({ ...section, markdown: linked(section.markdown) })),
  }
}

/** Returns the order and name of each parent folder, outermost first, and of the page. */
function sortKey(
  { segments }: Placed,
  byUrl: ReadonlyMap<string, Placed>,
): readonly (readonly [number, string])[] {
  return segments.map((name, depth) => {
    const page = byUrl.get(urlOf(segments.slice(0, depth + 1)))
    return [page?.draft.order ?? orderOf(name) ?? Infinity, name]
  })
}

type Key = readonly (readonly [number, string])[]

function compareKeys(a: Key, b: Key): number {
  for (let depth = 0; ; depth++) {
    const left = a[depth]
    const right = b[depth]
    if (left === undefined || right === undefined) return a.length - b.length
    if (left[0] !== right[0]) return left[0] < right[0] ? -1 : 1
    if (left[1] !== right[1]) return left[1] < right[1] ? -1 : 1
  }
}
