import type { Tool } from '../page.js'
import type { Ordering } from './order-file.js'
import { withoutOrder } from '../links.js'

/** The conventions of a site, by which the names of its files are understood. */
export interface Conventions {
  readonly tool: Tool | undefined
  /** True if `README.md` is the page of its folder. */
  readonly hasReadmes: boolean
  /** True if `page.mdx` is the page of its folder. */
  readonly hasNextPages: boolean
}

interface Written {
  readonly file: string
  readonly draft: { readonly tool: Tool | undefined }
}

/** Returns the conventions of a site, by its files. */
export function conventionsOf(written: readonly Written[], orderings: readonly Ordering[]): Conventions {
  const count = (tool: Tool): number => written.filter(({ draft }) => draft.tool === tool).length
  const categories = orderings.filter(({ file }) => /(?:^|\/)_category_\.\w+$/.test(file)).length
  const [docusaurus, starlight] = [count('docusaurus') + categories, count('starlight')]
  const tool = docusaurus > starlight ? 'docusaurus' : starlight > 0 ? 'starlight' : undefined
  return {
    tool,
    hasReadmes: tool === 'docusaurus' || orderings.some(({ summary }) => summary !== undefined),
    hasNextPages: written.filter(({ file }) => NEXT_PAGE.test(file)).length > 1,
  }
}

const NEXT_PAGE = /(?:^|\/)page\.mdx?$/

/** Returns the names of the folders of a file, and the file's own name without its ending; undefined if it is its folder's page. */
export function namesOf(
  file: string,
  conventions: Conventions,
): { folders: string[]; name: string | undefined } {
  const folders = file.replace(/\.mdx?$/, '').split('/')
  const name = folders.pop() ?? ''
  const isIndex =
    name === 'index' ||
    name === '_index' ||
    (conventions.hasReadmes && /^readme$/i.test(name)) ||
    (conventions.hasNextPages && name === 'page') ||
    // Docusaurus takes guide/guide.md for the page of its folder, too.
    (conventions.tool === 'docusaurus' && name === folders.at(-1))
  return { folders, name: isIndex ? undefined : name }
}

/**
 * Returns the segments of a page's URL: the names of its folders and of its file, unless the page has an address of its own. Groups
 * in parentheses have no segment, and Docusaurus has none of the numbers in front of names.
 */
export function segmentsOf(
  file: string,
  { slug, id }: { readonly slug: string | undefined; readonly id: string | undefined },
  conventions: Conventions,
): readonly string[] {
  const { folders, name } = namesOf(file, conventions)
  const isDocusaurus = conventions.tool === 'docusaurus'
  const shown = (names: readonly string[]): string[] =>
    names.filter((each) => !/^\(.*\)$/.test(each)).map((each) => (isDocusaurus ? withoutOrder(each) : each))
  const parents = shown(folders)
  if (slug !== undefined) {
    const isRooted = slug.startsWith('/') || conventions.tool === 'starlight'
    return resolved(isRooted ? slug : [...parents, slug].join('/'))
  }
  if (name === undefined) return parents
  return [...parents, ...(isDocusaurus && id !== undefined ? [id] : shown([name]))]
}

/** Returns the segments of a path, without dots and the ending of a file. */
export function resolved(path: string): string[] {
  const segments: string[] = []
  for (const part of path.replace(/(?:^|\/)index\.html?$|\.html?$/i, '').split('/')) {
    if (part === '..') segments.pop()
    else if (part !== '' && part !== '.') segments.push(decoded(part))
  }
  return segments
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
