import { segmentsOf, urlOf } from './links.js'
import { hashOf, type Draft, type FileError, type Page } from './page.js'

/** A file and the draft of its page. */
export interface Drafted {
  readonly file: string
  readonly draft: Draft
}

interface Placed extends Drafted {
  readonly segments: readonly string[]
  readonly title: string
}

/**
 * Returns the pages of all drafts with their URLs and breadcrumbs, in the order of a table of contents: the page of a folder, then
 * its contents by `order` and by name. If two files have the same URL, the first is served and the other one is an error.
 */
export function placePages(drafted: readonly Drafted[]): { pages: Page[]; errors: FileError[] } {
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
  return { pages: ordered.map(([url, placed]) => pageOf(url, placed, byUrl)), errors }
}

function place({ file, draft }: Drafted): Placed {
  const segments = segmentsOf(file)
  const named = segments.at(-1)
  return {
    file,
    draft,
    segments,
    title: draft.title ?? (named === undefined ? 'Documentation' : readable(named)),
  }
}

const isIndex = ({ file }: Placed): boolean => /(^|\/)index\.mdx?$/.test(file)

const indexFirst = (a: Placed, b: Placed): number =>
  Number(isIndex(b)) - Number(isIndex(a)) || (a.file < b.file ? -1 : 1)

/** Returns a title for a file name: `getting-started` → `Getting started`. A leading number, as in decisions, is left out. */
export function readable(name: string): string {
  const words = name
    .replace(/^\d+[-_. ]+(?=\D)/, '')
    .replace(/[-_]+/g, ' ')
    .trim()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}

function pageOf(url: string, placed: Placed, byUrl: ReadonlyMap<string, Placed>): Page {
  const { file, segments, title, draft } = placed
  const { description, tags, toc, markdown, structuredData, sections } = draft
  const breadcrumbs = segments.slice(0, -1).map((name, depth) => {
    return byUrl.get(urlOf(segments.slice(0, depth + 1)))?.title ?? readable(name)
  })
  const page = {
    url,
    slug: segments.join('/'),
    file,
    title,
    description,
    tags,
    breadcrumbs,
    toc,
    markdown,
    structuredData,
    sections,
  }
  return { ...page, hash: hashOf(page) }
}

/** Returns `order` and name of each parent folder, outermost first, and of the page. */
function sortKey(
  { segments }: Placed,
  byUrl: ReadonlyMap<string, Placed>,
): readonly (readonly [number, string])[] {
  return segments.map((name, depth) => {
    const page = byUrl.get(urlOf(segments.slice(0, depth + 1)))
    return [page?.draft.order ?? Infinity, name]
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
