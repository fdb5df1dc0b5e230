import { posix } from 'node:path'
import type { Finding, Page, WrittenLink } from './page.js'

/** Returns the URL of a page, with percent-encoded segments. */
export const urlOf = (segments: readonly string[]): string => `/${segments.map(encodeURIComponent).join('/')}`

const PAGE = /\.mdx?$/

/** Returns the URL segments of a file's page: its path without the extension. `index` is the page of its folder. */
export function segmentsOf(file: string): readonly string[] {
  const segments = file.replace(PAGE, '').split('/')
  return segments.at(-1) === 'index' ? segments.slice(0, -1) : segments
}

/** Returns the number of an ordering prefix, such as 2 for `02-install`; undefined for other names, and for dates and versions. */
export function orderOf(name: string): number | undefined {
  const digits = /^(\d+)[-_. ]+(?!\d)/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Returns a segment without an ordering prefix. */
const unordered = (name: string): string =>
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
    .map(unordered)
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

/** The paths of the service itself. `/docs/…` may also be the page of another site, which is resolved first. */
const SERVED = /^\/(?:api|docs|mcp|health|metrics|llms[\w.-]*|robots\.txt|sitemap\.xml)(?:[/?#]|$)/

/** A page that links may lead to. */
export interface Target extends Pick<Page, 'url' | 'file' | 'toc'> {
  /** Ids of HTML elements. */
  readonly ids: readonly string[]
}

/** Finds the pages that links lead to. */
export class LinkTargets {
  readonly #byFile = new Map<string, Target>()
  readonly #byAlias = new Map<string, Target>()

  /** @param targets in order: of several with the same alias, the first is found. */
  constructor(targets: readonly Target[]) {
    for (const target of targets) {
      this.#byFile.set(target.file.replace(PAGE, ''), target)
      const alias = aliasOf(target.file)
      if (!this.#byAlias.has(alias)) this.#byAlias.set(alias, target)
    }
  }

  /** Returns the page with a path, as the path of its file or as other sites would write it. */
  find(path: string): Target | undefined {
    const trimmed = path.replace(/^\/+|\/+$/g, '')
    const file = trimmed.replace(PAGE, '')
    return (
      this.#byFile.get(file) ??
      this.#byFile.get(file === '' ? 'index' : `${file}/index`) ??
      this.#byAlias.get(aliasOf(trimmed))
    )
  }

  /** Returns the URL of a link on a page, and what is wrong with it if it leads nowhere. */
  resolve(link: WrittenLink, page: Target): { url: string; finding?: Finding } {
    const { url, file, line } = link
    const [, path = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? []
    const broken = (message: string): { url: string; finding: Finding } => ({
      url,
      finding: { kind: 'link', file, line, message },
    })
    const target = path === '' ? page : this.#target(decoded(path), file, page.url)
    if (target === undefined) return SERVED.test(path) ? { url } : broken(`${url} leads to no page`)
    const own = path === '' ? '' : target.url + query
    const id = decoded(hash.slice(1))
    if (id === '' || id === 'top' || id.startsWith(':~:'))
      return { url: own + hash === '' ? url : own + hash }
    const match = idOn(target, id)
    if (match === undefined) return broken(`${url} leads to no heading of ${target.file}`)
    return { url: `${own}#${match === id ? hash.slice(1) : encodeURIComponent(match)}` }
  }

  /** Relative links start from the file, as in editors, or from the URL, as in browsers: a folder's page may be meant either way. */
  #target(path: string, file: string, url: string): Target | undefined {
    if (path.startsWith('/'))
      return this.find(path) ?? (path.startsWith('/docs/') ? this.find(path.slice(5)) : undefined)
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
