import { aliasesOf } from './site/aliases.js'
import { Arrangement, type Arranged } from './site/arrangement.js'
import { defaultLanguage, languageFolderOf, languagesOf } from './site/languages.js'
import { conventionsOf, namesOf, segmentsOf, type Conventions } from './site/names.js'
import type { Ordering } from './site/order-file.js'
import { LinkTargets, urlOf, withLinks, type Target } from './links.js'
import {
  hashOf,
  type Draft,
  type FileError,
  type Finding,
  type Page,
  type Texts,
  type Translation,
  withTexts,
} from './page.js'

/** A file and the draft of its page. */
export interface Drafted {
  readonly file: string
  readonly draft: Draft
}

/** The facts about a site that are not in its pages. */
export interface SiteOptions {
  /** The contents of the files that order pages. */
  readonly orderings?: readonly Ordering[]
  /** BCP 47 tags of the languages, that of the pages outside of their folders first; by the names of the folders if left out. */
  readonly languages?: readonly string[]
}

interface Placed extends Drafted, Arranged {
  readonly segments: readonly string[]
  readonly title: string
  readonly label: string
  readonly lang: string | undefined
  readonly languageFolder: string
}

/** The pages of a folder. */
export interface PlacedPages {
  /** The pages that lists show, in the order of a table of contents. */
  readonly pages: readonly Page[]
  /** Pages that no list shows. */
  readonly unlisted: readonly Page[]
  readonly targets: LinkTargets
  readonly errors: readonly FileError[]
  readonly findings: readonly Finding[]
  /** The language of a reader of whom nothing is known; undefined if the site does not say. */
  readonly defaultLanguage: string | undefined
}

/**
 * Returns the pages of all drafts with their URLs, breadcrumbs and links, in the order of a table of contents: the page of a folder,
 * then its contents by the files that order pages, by `order` or the number in front of the name, and by name. Of two files with the
 * same URL, the second is served at the URL of its file; if that is taken too, it is not served. Both are reported as errors.
 */
export function placePages(drafted: readonly Drafted[], options: SiteOptions = {}): PlacedPages {
  const { orderings = [], languages: declared = [] } = options
  const written = drafted.filter(({ draft }) => !draft.visibility.isDraft)
  const files = written.map(({ file }) => file)
  const conventions = conventionsOf(written, orderings)
  const languages = languagesOf(files, declared)
  const arrangement = new Arrangement(written, orderings, conventions, languages)
  const placedPages = written.map((each): Placed => {
    const { folder } = languageFolderOf(each.file, languages)
    const lang = each.draft.lang ?? (folder === '' ? languages.main : languages.folders.get(folder))
    return { ...place(each, arrangement.of(each), conventions), lang, languageFolder: folder }
  })
  const { byUrl, errors } = addressed(placedPages, conventions)
  const first = defaultLanguage(files, languages)
  const ordered = [...byUrl].sort(
    ([, a], [, b]) => compareLanguages(a.lang, b.lang, first) || compareLevels(a.levels, b.levels),
  )
  const translations = translationsOf(ordered, languages.folders.size === 0 ? undefined : languages)
  const targets = new LinkTargets(
    ordered.map(([url, placed]) => targetOf(url, placed)),
    written.flatMap(({ draft }) => draft.links),
  )
  const byPlace = new Map(ordered.map(([, placed]) => [placeKey(placed.lang, placed.levels), placed]))
  const all = ordered.map(([url, placed]) =>
    pageOf(url, placed, { byPlace, targets, translations: translations.get(url) ?? [] }),
  )
  const pages = all.map(({ page }) => page)
  return {
    pages: pages.filter(({ isUnlisted }) => !isUnlisted),
    unlisted: pages.filter(({ isUnlisted }) => isUnlisted),
    targets,
    errors,
    findings: all.flatMap(({ findings }) => findings),
    defaultLanguage: first,
  }
}

/** Assigns the URLs. */
function addressed(
  placedPages: readonly Placed[],
  conventions: Conventions,
): { byUrl: Map<string, Placed>; errors: FileError[] } {
  const errors: FileError[] = []
  const byUrl = new Map<string, Placed>()
  const second: { readonly placed: Placed; readonly message: string }[] = []
  const isIndex = ({ file }: Placed): boolean => namesOf(file, conventions).name === undefined
  const sorted = [...placedPages].sort(
    (a, b) => Number(isIndex(b)) - Number(isIndex(a)) || (a.file < b.file ? -1 : 1),
  )
  for (const each of sorted) {
    const url = urlOf(each.segments)
    const other = byUrl.get(url)
    if (other === undefined) byUrl.set(url, each)
    else second.push({ placed: each, message: `${other.file} already has the URL ${url}` })
  }
  for (const { placed, message } of second) {
    const segments = placed.file.replace(/\.mdx?$/, '').split('/')
    const url = urlOf(segments)
    const isFree = !byUrl.has(url)
    if (isFree) byUrl.set(url, { ...placed, segments })
    errors.push({ file: placed.file, line: 1, message: isFree ? `${message}: it is at ${url}` : message })
  }
  return { byUrl, errors }
}

/** Returns the pages in several languages that have the same path within the folders of their languages, by the URL of each. */
function translationsOf(
  ordered: readonly (readonly [string, Placed])[],
  languages: Parameters<typeof languageFolderOf>[1] | undefined,
): Map<string, readonly Translation[]> {
  const byPath = new Map<string, Translation[]>()
  const paths = new Map<string, string>()
  if (languages === undefined) return new Map()
  for (const [url, { file, lang }] of ordered) {
    if (lang === undefined) continue
    const path = languageFolderOf(file, languages).path.replace(/\.mdx?$/, '')
    paths.set(url, path)
    byPath.set(path, [...(byPath.get(path) ?? []), { lang, url }])
  }
  return new Map(
    [...paths].flatMap(([url, path]): [string, readonly Translation[]][] => {
      const all = byPath.get(path) ?? []
      return all.length < 2 ? [] : [[url, all]]
    }),
  )
}

const targetOf = (url: string, { file, languageFolder, draft: { toc, ids, aliases } }: Placed): Target => ({
  url,
  file,
  toc,
  ids,
  aliases: aliasesOf(file, aliases),
  languageFolder,
})

function place(
  { file, draft }: Drafted,
  arranged: Arranged,
  conventions: Conventions,
): Omit<Placed, 'lang' | 'languageFolder'> {
  const { folders, name } = namesOf(file, conventions)
  const own = arranged.levels.at(-1)
  const title = draft.title ?? own?.label ?? readable(name ?? folders.at(-1) ?? '')
  return {
    file,
    draft,
    ...arranged,
    segments: segmentsOf(file, draft, conventions),
    title: title === '' ? 'Documentation' : title,
    label: own?.label ?? draft.label ?? title,
  }
}

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

interface Surroundings {
  readonly byPlace: ReadonlyMap<string, Placed>
  readonly targets: LinkTargets
  readonly translations: readonly Translation[]
}

function pageOf(url: string, placed: Placed, { byPlace, targets, translations }: Surroundings): PlacedPage {
  const { file, title, label, draft, levels, lang } = placed
  const breadcrumbs = levels.slice(0, -1).map(({ name, label: given }, depth) => {
    return given ?? byPlace.get(placeKey(lang, levels.slice(0, depth + 1)))?.label ?? readable(name)
  })
  const target = targetOf(url, placed)
  const resolved = draft.links.map((link) => targets.resolve(link, target))
  const urls = resolved.map((link) => link.url)
  const { isDraft: _, ...visibility } = draft.visibility
  const shown = {
    url,
    file,
    title,
    label,
    lang,
    breadcrumbs,
    translations,
    place: levels.map(({ name }) => name),
    ...visibility,
    isUnlisted: visibility.isUnlisted || isNotFoundPage(placed),
    isInNavigation: visibility.isInNavigation && !placed.isHidden,
  }
  const key = JSON.stringify([shown, urls])
  const last = lastOf.get(draft)
  const page = last?.key === key ? last.page : linkedPage(shown, placed, urls)
  const findings = [...draft.findings, ...resolved.flatMap(({ finding }) => finding ?? [])]
  const result = { key, page, findings }
  lastOf.set(draft, result)
  return result
}

/** Returns whether a page is the one that sites show at addresses without a page. */
const isNotFoundPage = ({ levels }: Placed): boolean => levels.length === 1 && levels[0]?.name === '404'

type Shown = Omit<Page, keyof Texts | 'slug' | 'description' | 'tags' | 'toc' | 'hash'>

function linkedPage(shown: Shown, { segments, draft }: Placed, urls: readonly string[]): Page {
  const { description, tags, toc } = draft
  const hash = hashOf([shown, urls, draft.hash])
  const page = { ...shown, slug: segments.join('/'), description, tags, toc, hash }
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

type Levels = Arranged['levels']

const placeKey = (lang: string | undefined, levels: Levels): string =>
  [lang ?? '', ...levels.map(({ name }) => name)].join('\n')

function compareLanguages(a: string | undefined, b: string | undefined, first: string | undefined): number {
  if (a === b) return 0
  if (a === first || b === first) return a === first ? -1 : 1
  return (a ?? '') < (b ?? '') ? -1 : 1
}

function compareLevels(a: Levels, b: Levels): number {
  for (let depth = 0; ; depth++) {
    const left = a[depth]
    const right = b[depth]
    if (left === undefined || right === undefined) return a.length - b.length
    if (left.order !== right.order) return left.order < right.order ? -1 : 1
    if (left.name !== right.name) return left.name < right.name ? -1 : 1
  }
}
