/** The languages of a site, each with the folder that has its pages. */
export interface Languages {
  /** Language of the pages outside of the folders; undefined if the site does not say. */
  readonly main: string | undefined
  /** BCP 47 tags by the name of a folder of the root. */
  readonly folders: ReadonlyMap<string, string>
}

/** The name of a folder that may be a language: `de`, `pt-BR`, `zh_Hans`. */
const NAME = /^[a-z]{2,3}(?:[-_](?:[a-z]{4}|[a-z]{2}|\d{3}))*$/i
const NAMES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })

/**
 * Returns the languages of a site by the names of its folders. A folder of the root is a language if it has the name of one, and most of
 * its pages have the names of pages of the root or of another such folder.
 * @param files of all pages, relative to the content folder.
 * @param declared BCP 47 tags, that of the pages outside of the folders first; empty if the folders are to say.
 */
export function languagesOf(files: readonly string[], declared: readonly string[]): Languages {
  const [main] = declared
  const names = [...new Set(files.flatMap((file) => file.split('/').slice(0, -1)[0] ?? []))]
  if (declared.length > 0) {
    const tags = new Map(declared.map((tag) => [tag.toLowerCase(), tag]))
    const folders = names.flatMap((name): [string, string][] => {
      const tag = tags.get(normal(name))
      return tag === undefined ? [] : [[name, tag]]
    })
    return { main, folders: new Map(folders) }
  }
  const candidates = names.filter((name) => NAME.test(name) && isLanguage(normal(name)))
  const isCandidate = new Set(candidates)
  const inside = new Map<string, Set<string>>()
  for (const file of files) {
    const [top = '', ...rest] = file.replace(/\.mdx?$/, '').split('/')
    const folder = isCandidate.has(top) && rest.length > 0 ? top : ''
    const path = folder === '' ? [top, ...rest].join('/') : rest.join('/')
    inside.set(folder, (inside.get(folder) ?? new Set()).add(path))
  }
  const folders = candidates.filter((name) => {
    const own = [...(inside.get(name) ?? [])].filter((path) => !/(?:^|\/)index$/.test(path))
    const isElsewhere = (path: string): boolean =>
      [...inside].some(([folder, paths]) => folder !== name && paths.has(path))
    return own.length > 0 && 2 * own.filter(isElsewhere).length >= own.length
  })
  const tags = new Map(folders.map((name) => [name, tagOf(name)]))
  return { main: tags.size > 0 && ![...tags.values()].includes('en') ? 'en' : undefined, folders: tags }
}

const normal = (name: string): string => name.replaceAll('_', '-').toLowerCase()

function isLanguage(name: string): boolean {
  try {
    return NAMES.of(name) !== undefined
  } catch {
    return false
  }
}

function tagOf(name: string): string {
  try {
    return Intl.getCanonicalLocales(normal(name))[0] ?? name
  } catch {
    return name
  }
}

/** Returns the language of a reader of whom nothing is known. @param files of all pages. */
export function defaultLanguage(files: readonly string[], languages: Languages): string | undefined {
  const { main, folders } = languages
  const hasOthers = files.some((file) => languageFolderOf(file, languages).folder === '')
  if (hasOthers || folders.size === 0) return main
  const tags = [...folders.values()]
  return [main, 'en'].find((tag) => tag !== undefined && tags.includes(tag)) ?? tags[0]
}

/** Returns the folder of a file's language, and its path in that folder; the empty folder for pages outside of the folders. */
export function languageFolderOf(file: string, { folders }: Languages): { folder: string; path: string } {
  const [top = '', ...rest] = file.split('/')
  return rest.length > 0 && folders.has(top)
    ? { folder: top, path: rest.join('/') }
    : { folder: '', path: file }
}
