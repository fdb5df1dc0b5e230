import GithubSlugger from 'github-slugger'
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../tidy/tree.js'
import { proseOf, readPages } from './pages.js'

const pages = readPages()
const byFile = new Map(pages.map((page) => [page.file, page]))

function headingIds(source: string): Set<string> {
  const slugger = new GithubSlugger()
  const titles = [...proseOf(source).matchAll(/^#{1,6} +(.+)$/gm)].map(([, title = '']) => title)
  const shown = titles.map((title) => title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, ''))
  return new Set(shown.map((title) => slugger.slug(title.trim())))
}

function brokenLinks({ file, source }: (typeof pages)[number]): string[] {
  const prose = proseOf(source).replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^https?:/.test(link)) return []
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? file : posix.join(posix.dirname(file), path)
    if (/\.(?:png|svg)$/.test(target))
      return existsSync(join(ROOT, 'content', target)) ? [] : [`${file}: ${link} names no image`]
    const page = byFile.get(target)
    if (page === undefined) return [`${file}: ${link} names no page`]
    if (anchor !== undefined && !headingIds(page.source).has(anchor))
      return [`${file}: ${link} names no heading`]
    return []
  })
}

describe('the documentation', () => {
  it('has slugs of headings as its readers compute them', () => {
    const source =
      '## OP_RETURN data\n\n## `npm start` says: it is, there\n\n## The tip\n\n```\n## none\n```\n\n## The tip'
    expect([...headingIds(source)]).toEqual([
      'op_return-data',
      'npm-start-says-it-is-there',
      'the-tip',
      'the-tip-1',
    ])
  })

  it('links to pages and headings that exist', () => {
    expect(pages.flatMap(brokenLinks)).toEqual([])
  })

  it('can be reached from its first page', () => {
    const reached = new Set(['index.md'])
    for (const file of reached)
      for (const [, link = ''] of proseOf(byFile.get(file)?.source ?? '').matchAll(/\]\(([^)\s#]+)/g)) {
        const target = posix.join(posix.dirname(file), link)
        if (byFile.has(target)) reached.add(target)
      }
    const lost = pages.map(({ file }) => file).filter((file) => !reached.has(file))
    expect(lost, 'link to it; a decision belongs into the list of internals/decisions.md').toEqual([])
  })

  it('has no page where the docs service has an endpoint', () => {
    const taken = /^\/(api|docs|mcp|health|metrics|llms\.mdx)(\/|$)/
    expect(pages.map(({ url }) => url).filter((url) => taken.test(url))).toEqual([])
  })

  it('has a title and a description on every page except the decisions, and no duplicate title', () => {
    const own = pages.filter(({ file }) => !file.startsWith('decisions/'))
    expect(own.length).toBeGreaterThan(25)
    const without = own.filter(({ source }) => !/^---\ntitle: \S.*\ndescription: \S.*\n/.test(source))
    expect(without.map(({ file }) => file)).toEqual([])
    const titles = own.map(({ source }) => /^title: (.+)$/m.exec(source)?.[1])
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
  })
})
