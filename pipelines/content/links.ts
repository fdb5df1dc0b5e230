import { posix } from 'node:path'
import type { Finding, Page, WrittenLink } from './page.js'

/** Returns the URL of a page, with percent-encoded segments. */
export const urlOf = (segments: readonly string[]): string => `/${segments.map(encodeURIComponent).join('/')}`

const PAGE = /\.mdx?$/

/** Returns the number of an ordering prefix, such as 2 for `02-install`; undefined for other names, and for dates and versions. */
export function orderOf(name: string): number | undefined {
  const digits = /^(\d+)[-_. ]+(?!\d)/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Returns a segment without an ordering prefix. */
export const withoutOrder = (name: string): string =>
  orderOf(name) === undefined ? name : name.replace(/^\d+[-_. ]+/, '')

/**
 * Returns the name under which other sites would serve a path: without `(group)` folders, ordering prefixes, endings of files, and
 * `index` or `README` at its end.
 */
export function aliasOf(path: string): string {
  const names = path
    .replace(/\.(?:mdx?|html?)$/i, '')
    .split('/')
    .filter((name) => name !== '' && name !== '.' && !/^\(.*\)$/.test(name))
    .map(withoutOrder)
  return (/^(?:index|readme)$/i.test(names.at(-1) ?? '') ? names.slice(0, -1) : names).join('/')
}

/** The characters around the index of a link. No text contains them: they are removed from every file. */
const TOKEN = /\uFDD0(\d+)\uFDD1/g
export const NONCHARACTERS = /[\uFDD0-\uFDEF]/g

/** Returns the text that stands for a link until its page is known. */
export const linkToken = (index: number): string => `\uFDD0${String(index)}\uFDD1`

/** Returns a text with each link's URL in place of its token. */
export const withLinks = (text: string, urls: readonly string[]): string =>
  text.includes('\uFDD0')
    ? text.replace(TOKEN, (_, index: string) => inMarkdown(urls[Number(index)] ?? ''))
    : text

/** Encodes the characters that would end the destination of a link. */
const inMarkdown = (url: string): string =>
  url.replace(/[\s()<>\\"]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** Returns whether a URL may lead to a page: it has neither scheme nor host. */
export const isInternal = (url: string): boolean => !/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(url) && url !== ''

/** The paths of the service that are no pages. */
export const SERVED_PATHS: readonly string[] = [
  '/api/ask',
  '/api/chat',
  '/api/docs',
  '/api/search',
  '/health',
  '/llms-full.txt',
  '/llms.mdx',
  '/llms.txt',
  '/mcp',
  '/metrics',
  '/robots.txt',
  '/sitemap.xml',
]
/** The paths of the service that the path of a page follows. */
const SERVED_PAGES = /^\/(?:api\/docs|llms\.mdx)\/(.+)$/

/** A page that links may lead to. */
export interface Target extends Pick<Page, 'url' | 'file' | 'toc'> {
  /** Ids of HTML elements. */
  readonly ids: readonly string[]
  /** Other addresses: paths without slashes around them. */
  readonly aliases: readonly string[]
  /** The folder of the page's language; empty if it has none. */
  readonly languageFolder: string
}

/** The number of different links that must lead to pages without the first part of their path, for it to be the base path of the site. */
const LEAST_BASED = 2
const MAX_BASE_SEGMENTS = 2

/** Finds the pages that links lead to. */
export class LinkTargets {
  readonly #byFile = new Map<string, Target>()
  readonly #byUrl = new Map<string, Target>()
  readonly #byAlias = new Map<string, Target>()
  readonly #bases: readonly string[]

  /**
   * @param targets in order: of several with the same alias, the first is found.
   * @param links of all pages, from which the base path of the site is found.
   */
  constructor(targets: readonly Target[], links: Iterable<Pick<WrittenLink, 'url'>> = []) {
    const addAlias = (alias: string, target: Target): void => {
      if (!this.#byAlias.has(alias)) this.#byAlias.set(alias, target)
    }
    for (const target of targets) {
      this.#byFile.set(target.file.replace(PAGE, ''), target)
      this.#byUrl.set(decoded(target.url).slice(1), target)
      addAlias(aliasOf(target.file), target)
    }
    // The addresses that pages have come before those that they had.
    for (const target of targets) for (const alias of target.aliases) addAlias(aliasOf(alias), target)
    this.#bases = this.#basesOf(links)
  }

  /** Returns the page with a path: its address, the path of its file, or either as other sites would write it. */
  find(path: string): Target | undefined {
    const trimmed = path.replace(/^\/+|\/+$/g, '')
    const file = trimmed.replace(PAGE, '')
    return (
      (file === trimmed ? this.#byUrl.get(trimmed) : undefined) ??
      this.#byFile.get(file) ??
      this.#byFile.get(file === '' ? 'index' : `${file}/index`) ??
      this.#byUrl.get(file) ??
      this.#byAlias.get(aliasOf(trimmed))
    )
  }

  /** Returns the first parts of paths that lead to pages without them, if most links with such a part do. */
  #basesOf(links: Iterable<Pick<WrittenLink, 'url'>>): string[] {
    const votes = new Map<string, { readonly good: Set<string>; readonly bad: Set<string> }>()
    for (const { url } of links) {
      const [path = ''] = url.split(/[?#]/)
      if (!path.startsWith('/') || this.#rooted(decoded(path)) !== undefined || isServed(path)) continue
      const segments = decoded(path)
        .split('/')
        .filter((segment) => segment !== '')
      for (let length = 1; length <= MAX_BASE_SEGMENTS && length < segments.length; length++) {
        const base = `/${segments.slice(0, length).join('/')}`
        const vote = votes.get(base) ?? { good: new Set<string>(), bad: new Set<string>() }
        votes.set(base, vote)
        const rest = segments.slice(length).join('/')
        ;(this.find(rest) === undefined ? vote.bad : vote.good).add(rest)
      }
    }
    return [...votes].flatMap(([base, { good, bad }]) =>
      good.size >= LEAST_BASED && good.size >= bad.size ? [base] : [],
    )
  }

  /** Returns the page with a path from the root. */
  #rooted(path: string): Target | undefined {
    return this.find(path) ?? (path.startsWith('/docs/') ? this.find(path.slice(5)) : undefined)
  }

  /** Returns the URL of a link on a page, and what is wrong with it if it leads nowhere. */
  resolve(link: WrittenLink, page: Target): { url: string; finding?: Finding } {
    const { url, file, line } = link
    const [, path = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? []
    const broken = (message: string): { url: string; finding: Finding } => ({
      url,
      finding: { kind: 'link', file, line, message },
    })
    const target = path === '' ? page : this.#target(decoded(path), file, page)
    if (target === undefined) {
      const [, served] = SERVED_PAGES.exec(path) ?? []
      const isGood = isServed(path) || (served !== undefined && this.find(decoded(served)) !== undefined)
      return isGood ? { url } : broken(`${url} leads to no page`)
    }
    const own = path === '' ? '' : target.url + query
    const id = decoded(hash.slice(1))
    if (id === '' || id === 'top' || id.startsWith(':~:'))
      return { url: own + hash === '' ? url : own + hash }
    const match = idOn(target, id)
    if (match === undefined) return broken(`${url} leads to no heading of ${target.file}`)
    return { url: `${own}#${match === id ? hash.slice(1) : encodeURIComponent(match)}` }
  }

  /** Relative links start from the file, as in editors, or from the URL, as in browsers: a folder's page may be meant either way. */
  #target(path: string, file: string, { url, languageFolder }: Target): Target | undefined {
    if (path.startsWith('/')) {
      const base = this.#bases.find((each) => path === each || path.startsWith(`${each}/`))
      return (
        this.#rooted(path) ??
        // Nextra adds the language to links.
        (languageFolder === '' ? undefined : this.find(`${languageFolder}${path}`)) ??
        (base === undefined ? undefined : this.#rooted(path.slice(base.length)))
      )
    }
    const from = decoded(url)
    const paths = [
      posix.join(posix.dirname(file), path),
      posix.join(from, path),
      posix.join(posix.dirname(from), path),
    ]
    for (const each of paths) {
      const match = each.startsWith('../') ? undefined : this.find(each)
      if (match !== undefined) return match
    }
    return undefined
  }
}

const isServed = (path: string): boolean => SERVED_PATHS.includes(path.replace(/\/$/, ''))

/** Returns the id that a link names, or the only one that differs in punctuation and case: sites make ids in different ways. */
function idOn({ toc, ids }: Target, id: string): string | undefined {
  const all = [...toc.map(({ url }) => url.slice(1)), ...ids]
  if (all.includes(id)) return id
  const plain = plainId(id)
  const similar = all.filter((each) => plainId(each) === plain)
  return plain !== '' && similar.length === 1 ? similar[0] : undefined
}

const plainId = (id: string): string => id.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')

function decoded(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}
