import type { Html, Nodes, Root, RootContent } from 'mdast'
import { visit } from 'unist-util-visit'
import { splitFrontmatter, type Split } from './frontmatter/frontmatter.js'
import { homeBlocks } from './frontmatter/home.js'
import {
  includePath,
  parseInclude,
  parseMdBook,
  parseSnippet,
  selectLines,
  sitePath,
  type Include,
} from './includes.js'
import { isInternal, linkToken, NONCHARACTERS } from './links.js'
import { ContentError, type Finding, type Included, type WrittenLink } from './page.js'
import { convertComponents } from './syntax/components.js'
import type { IncludeLine } from './syntax/conventions.js'
import { setHeadingIds, headingId } from './syntax/headings.js'
import { bindNames } from './syntax/expressions/scope.js'
import { lineOf, parseBody } from './syntax/parse.js'

/** The maximum length of all included texts of a page, in characters: each may be included several times. */
const MAX_INCLUDED = 1024 * 1024
/** The length that each included text counts at least, because parsing the shortest takes time too. */
const MIN_INCLUDED = 1024
const HTML_ID = /\s(?:id|name)=["']([^"'\s]+)["']/g
const HTML_LINK = /(<a\s(?:[^>]*?\s)?href=)(["'])(.*?)\2/gi

/** Returns the error of an include that is refused. */
const refused = (why: string): ContentError => new ContentError(1, why)

/** The tree of a file, converted to Markdown, and its frontmatter. */
export interface Assembled extends Pick<Split, 'frontmatter' | 'fields'> {
  readonly root: Root
}

/** Assembles the tree of a page from its file and the included files. */
export class Assembly {
  readonly links: WrittenLink[] = []
  readonly ids: string[] = []
  readonly findings: Finding[] = []
  readonly #included: ReadonlyMap<string, Included>
  readonly #leftOut = new Set<string>()
  #remaining = MAX_INCLUDED

  constructor(included: readonly Included[]) {
    this.#included = new Map(included.map((each) => [each.path, each]))
  }

  /** Returns the converted tree of the page's file. @throws ContentError with the line that is malformed. */
  page(source: string, file: string): Assembled {
    return this.#tree(source, [file])
  }

  /** @param files the chain of includes: the page's file first, the current file last. */
  #tree(source: string, files: readonly string[]): Assembled {
    const file = files.at(-1) ?? ''
    const text = source
      .replace(/^\uFEFF/, '')
      .replace(/\r\n?/g, '\n')
      .replace(NONCHARACTERS, '')
    const { frontmatter, fields, body } = splitFrontmatter(text)
    const { root, faults } = parseBody(body, file)
    for (const { line } of faults)
      this.findings.push({ kind: 'expression', file, line, message: 'an expression is not valid' })
    bindNames(root, fields)
    const imports = importsOf(root)
    const attempt = <T>(at: number, target: string, work: () => T): T | undefined => {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof ContentError)) throw error
        this.findings.push({
          kind: 'include',
          file,
          line: at,
          message: `${target} is not included: ${error.message}`,
        })
        return undefined
      }
    }
    convertComponents(root, {
      include: (line, at) => attempt(at, line.target, () => this.#include(line, files)) ?? [],
      textOf: (target, at) => attempt(at, target, () => this.#text(parseMdBook(target), file).text),
      importedAs: (component) => imports.get(component),
      leftOut: (component, at) => {
        this.#reportExpression(component, file, at)
      },
    })
    const { home, title } = frontmatter
    if (home !== undefined && files.length === 1) root.children.unshift(...homeBlocks(home, title))
    this.#takeLinks(root, file)
    return { frontmatter, fields, root }
  }

  #include({ kind, target }: IncludeLine, files: readonly string[]): RootContent[] {
    const include =
      kind === 'snippet' ? parseSnippet(target) : kind === 'book' ? parseMdBook(target) : parseInclude(target)
    if (include === undefined) throw refused('its path cannot be read')
    const file = files.at(-1) ?? ''
    const { path, text } = this.#text(include, file)
    if (include.code !== undefined || !/\.mdx?$/.test(path)) {
      const lang = include.code?.lang ?? /\.(\w+)$/.exec(path)?.[1] ?? null
      return [{ type: 'code', value: text.replace(/\n$/, ''), lang, meta: include.code?.meta ?? null }]
    }
    if (files.includes(path)) throw refused(`it includes itself (${[...files, path].join(' → ')})`)
    const { root } = this.#subtree(text, [...files, path])
    return include.region === undefined || isRegion(include, this.#included.get(path)?.text)
      ? root.children
      : sectionOf(root, include.region)
  }

  /** Returns the tree of an included text. @throws ContentError that names the file. */
  #subtree(text: string, files: readonly string[]): { root: Root } {
    try {
      return this.#tree(text, files)
    } catch (error) {
      if (!(error instanceof ContentError)) throw error
      throw refused(`line ${String(error.line)} of ${files.at(-1) ?? ''}: ${error.message}`)
    }
  }

  /** Returns the lines of a file that an include selects. @throws ContentError. */
  #text(include: Include, file: string): { path: string; text: string } {
    const own = includePath(include.target, file)
    const ofSite = sitePath(include.target)
    const isOfSite = this.#textAt(ofSite) !== undefined && this.#textAt(own) === undefined
    const path = isOfSite ? ofSite : own
    if (path === undefined) throw refused('it is outside of the content folder')
    const entry: Omit<Included, 'path'> = this.#included.get(path) ?? {
      error: 'a page may include 100 files',
    }
    const { text, error } = entry
    if (text === undefined) throw refused(error ?? '')
    const selected =
      isRegion(include, text) || include.region === undefined ? selectLines(text, include) : text
    this.#remaining -= Math.max(selected?.length ?? 0, MIN_INCLUDED)
    if (this.#remaining < 0) throw refused('the included texts are larger than 1 MB')
    if (
      selected === undefined ||
      (include.code !== undefined && include.region !== undefined && !isRegion(include, text))
    )
      throw refused(`it has no region ${include.region ?? ''}`)
    return { path, text: selected }
  }

  #textAt(path: string | undefined): string | undefined {
    return path === undefined ? undefined : this.#included.get(path)?.text
  }

  /** Reports an expression once for each component of the page. */
  #reportExpression(component: string, file: string, line: number): void {
    if (this.#leftOut.has(component)) return
    this.#leftOut.add(component)
    const message =
      component === '{…}' ? 'an expression is left out' : `an expression of <${component}> is left out`
    this.findings.push({ kind: 'expression', file, line, component, message })
  }

  /** Replaces the URLs of links that may lead to other pages by tokens. */
  #takeLinks(root: Root, file: string): void {
    const take = (url: string, line: number): string => {
      if (!isInternal(url) || url.includes('\uFDD0')) return url
      this.links.push({ url, file, line })
      return linkToken(this.links.length - 1)
    }
    let line = 1
    const visited = (node: Nodes): void => {
      if (node.position !== undefined) line = lineOf(node)
      if (node.type === 'link' || node.type === 'definition') node.url = take(node.url, line)
      if (node.type === 'container') for (const each of node.label) visit(each, visited)
      if (node.type === 'html') this.#takeHtml(node, take, line)
    }
    visit(root, visited)
  }

  #takeHtml(node: Html, take: (url: string, line: number) => string, line: number): void {
    for (const [, id = ''] of node.value.matchAll(HTML_ID)) this.ids.push(id)
    node.value = node.value.replace(HTML_LINK, (_, start: string, quote: string, url: string) => {
      return `${start}${quote}${take(url, line)}${quote}`
    })
  }
}

/** Returns whether a file has the region that an include names; otherwise that is the id of a heading. */
const isRegion = (include: Include, text: string | undefined): boolean =>
  include.region !== undefined && text !== undefined && selectLines(text, include) !== undefined

/** Returns the names of components that are imported from Markdown, with the paths of the files. */
function importsOf(root: Root): ReadonlyMap<string, string> {
  const imports = new Map<string, string>()
  visit(root, 'mdxjsEsm', ({ data }) => {
    for (const statement of data?.estree?.body ?? []) {
      if (statement.type !== 'ImportDeclaration' || !/\.mdx?$/.test(String(statement.source.value))) continue
      for (const { type, local } of statement.specifiers)
        if (type === 'ImportDefaultSpecifier') imports.set(local.name, String(statement.source.value))
    }
  })
  return imports
}

/** Returns the content below a heading, up to the next heading of its level or a higher level. */
function sectionOf(root: Root, id: string): RootContent[] {
  setHeadingIds(root)
  const { children } = root
  const from = children.findIndex((node) => node.type === 'heading' && headingId(node) === id)
  const heading = children[from]
  if (heading?.type !== 'heading') throw refused(`it has no heading or region ${id}`)
  const length = children
    .slice(from + 1)
    .findIndex((node) => node.type === 'heading' && node.depth <= heading.depth)
  return children.slice(from, length < 0 ? undefined : from + 1 + length)
}
