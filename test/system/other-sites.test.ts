import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Nodes } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { describe, expect, it } from 'vitest'
import { openContent } from '../../pipelines/content/store.js'
import { chunksOf } from '../../pipelines/retrieval/index/chunk.js'
import { renderMarkdown } from '../../services/docs/pages/render.js'

/**
 * Sites that were written for other tools, a folder for each: the documentation of Starlight, Nextra, typescript-eslint, the Rust
 * reference, Helm or any other, as in their repositories.
 */
const FOLDER = process.env['OTHER_SITES_DIR'] ?? join('.data', 'sites')
const SITES = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => !name.startsWith('.')) : []
const isWanted = process.env['OTHER_SITES'] === '1'
if (isWanted && SITES.length === 0)
  process.stderr.write(`SKIPPED: no sites in ${FOLDER}; OTHER_SITES_DIR names another folder\n`)

/** The share of the words of a site that may be missing: those of fields, tags and includes of its tool. */
const MAX_LOST = 0.005

const markdown = unified().use(remarkParse).use(remarkGfm).freeze()
const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []

/** Returns the prose and the code of a file of Markdown, found without the code under test. */
function textsOf(source: string): { prose: string; code: string[] } {
  const prose: string[] = []
  const code: string[] = []
  const walk = (node: Nodes): void => {
    if (node.type === 'code') code.push(node.value)
    if (node.type === 'text' || node.type === 'inlineCode') prose.push(node.value)
    if ('children' in node) node.children.forEach(walk)
  }
  walk(markdown.parse(source.replace(/^(---|\+\+\+)\n[\s\S]*?\n\1\n/, '')))
  return { prose: prose.join(' '), code }
}

describe.runIf(isWanted && SITES.length > 0)('a site of another tool, served whole', () => {
  it.each(SITES)('%s has all of its pages, words and code', { timeout: 900_000 }, async (site) => {
    const quiet = (): void => undefined
    const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    const content = await openContent(join(FOLDER, site), { logger })
    content.close()
    expect(content.errors()).toEqual([])
    expect(content.pages().length).toBeGreaterThan(10)
    const lost: string[] = []
    const changed: string[] = []
    let total = 0
    for (const page of content.pages()) {
      // A page may consist of its title.
      const isEmpty = page.markdown.replace(/^#.*\n*/, '') === ''
      expect(renderMarkdown(page).text === '', page.file).toBe(isEmpty)
      if (!page.file.endsWith('.md')) continue
      const { prose, code } = textsOf(readFileSync(join(FOLDER, site, page.file), 'utf8'))
      const shown = new Set(wordsOf(`${page.title} ${page.markdown}`))
      const indexed = new Set(chunksOf(page).flatMap(({ text }) => wordsOf(text)))
      for (const word of wordsOf(prose)) {
        total++
        if (!shown.has(word) || !indexed.has(word)) lost.push(`${page.file}: ${word}`)
      }
      const plain = page.markdown.replace(/^[ >]+/gm, '')
      for (const each of code)
        if (!each.includes('{{#') && !plain.includes(each.replace(/^[ >]+/gm, '')))
          changed.push(`${page.file}: ${each.slice(0, 60)}`)
    }
    process.stdout.write(
      `${site}: ${String(content.pages().length)} pages, ${String(total)} words, ${String(lost.length)} lost, ` +
        `${String(content.findings().length)} findings\n`,
    )
    expect(changed).toEqual([])
    expect(lost.length, lost.slice(0, 20).join('\n')).toBeLessThanOrEqual(total * MAX_LOST)
    // Sections such as "Examples" are no titles of pages.
    const titles = content.pages().map(({ title, lang }) => `${lang ?? ''} ${title}`)
    const most = Math.max(...titles.map((title) => titles.filter((each) => each === title).length))
    expect(most).toBeLessThan(10)
  })
})
