import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Nodes } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkMdx from 'remark-mdx'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openContent, type Content } from '../../pipelines/content/store.js'
import { chunksOf } from '../../pipelines/retrieval/index/chunk.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

/** The documentation of the AI SDK, as its package contains it: a site that was written for other software. */
const SITE = join('node_modules', 'ai', 'docs')

/** In CI, the folder with almost half of the pages is left out, and the words of every third page are compared. */
const LEFT_OUT = IS_WHOLE ? undefined : '07-reference'
const ONE_IN = IS_WHOLE ? 1 : 3

/** Properties that say how a component looks, or where it leads. */
const DESIGN = /^(?:href|link|src\w*|size|width|height|shape|className|type|prompt|showTemp)$/
/** Areas of the site that are not part of the folder. */
const ELSEWHERE = /^\/(?:providers|cookbook|examples|playground)(?:[/?#\s]|$)/
/** Pages that the folder does not have: the front page of the site, and one that was moved. */
const MOVED = /^(?:\/docs|\.\/prompts)$/

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? []
const mdx = unified().use(remarkParse).use(remarkMdx).use(remarkGfm).freeze()

interface Syntax {
  readonly type: string
  readonly [field: string]: unknown
}

/** The texts that the author of a page wrote for readers, found without the code under test. */
function textsOf(source: string): string[] {
  const texts: string[] = []
  const literals = (node: unknown, field: string): void => {
    if (Array.isArray(node)) for (const each of node) literals(each, field)
    if (typeof node !== 'object' || node === null || !('type' in node)) return
    const { type, value, key, ...rest } = node as Syntax
    if (type === 'Property') literals(value, String((key as Syntax)['name']))
    else if (DESIGN.test(field)) return
    else if (type === 'Literal' || type === 'JSXText') texts.push(typeof value === 'string' ? value : '')
    else if (type === 'TemplateElement') texts.push((value as { cooked: string }).cooked)
    else for (const [name, each] of Object.entries(rest)) if (name !== 'comments') literals(each, field)
  }
  const walk = (node: Nodes): void => {
    if (node.type === 'text' || node.type === 'inlineCode' || node.type === 'code') texts.push(node.value)
    if (node.type === 'mdxFlowExpression' || node.type === 'mdxTextExpression')
      literals(node.data?.estree, '')
    if (node.type === 'mdxJsxFlowElement' || node.type === 'mdxJsxTextElement')
      for (const each of node.attributes) {
        if (each.type !== 'mdxJsxAttribute') continue
        if (typeof each.value === 'string') texts.push(DESIGN.test(each.name) ? '' : each.value)
        // A type is the design of a callout, but the content of a table.
        else literals(each.value?.data?.estree, each.name === 'content' ? '' : each.name)
      }
    if ('children' in node) node.children.forEach(walk)
  }
  walk(mdx.parse(source.replace(/^---\n[\s\S]*?\n---\n/, '')))
  return texts
}

describe('a site that was written for other software', () => {
  const files = readdirSync(SITE, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.mdx') && file.split('/')[0] !== LEFT_OUT)
  let folder: string
  let content: Content

  beforeAll(async () => {
    const quiet = () => undefined
    folder = await mkdtemp(join(tmpdir(), 'headwater-foreign-'))
    await cp(SITE, folder, {
      recursive: true,
      filter: (path) => LEFT_OUT === undefined || path !== join(SITE, LEFT_OUT),
    })
    content = await openContent(folder, { logger: { debug: quiet, info: quiet, warn: quiet, error: quiet } })
    await until('all pages are read', () => content.pages().length === files.length)
  })

  afterAll(async () => {
    content.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('has a page for each file, and no errors', () => {
    expect(files.length).toBeGreaterThan(IS_WHOLE ? 200 : 100)
    expect(content.errors()).toEqual([])
    expect(content.pages().filter(({ title }) => title === '')).toEqual([])
  })

  it('loses no word: each is in the Markdown and in a passage of the index', () => {
    const lost: string[] = []
    let total = 0
    for (const page of content.pages().filter((_, index) => index % ONE_IN === 0)) {
      const shown = new Set(wordsOf(page.markdown))
      const indexed = new Set(chunksOf(page).flatMap(({ text }) => wordsOf(text)))
      for (const word of textsOf(readFileSync(join(SITE, page.file), 'utf8')).flatMap(wordsOf)) {
        total++
        if (!shown.has(word) || !indexed.has(word)) lost.push(`${page.file}: ${word}`)
      }
    }
    expect(total).toBeGreaterThan(150_000 / ONE_IN / 2)
    expect(lost).toEqual([])
  })

  it('has no unresolved links but those that are broken at the source', () => {
    const findings = content.findings()
    expect(findings.filter(({ kind }) => kind !== 'link')).toEqual([])
    const unresolved = findings.map(({ message }) => message)
    const pages = unresolved.filter((message) => message.endsWith('leads to no page'))
    const isLeftOut = (message: string) => LEFT_OUT !== undefined && /^\S*\breference\//.test(message)
    const lost = pages.filter((message) => !ELSEWHERE.test(message) && !isLeftOut(message))
    expect(lost.filter((message) => !MOVED.test(message.split(' ')[0]!))).toEqual([])
    // The site makes ids for the rows of its tables, and some headings were renamed.
    const headings = unresolved.filter((message) => message.includes('leads to no heading'))
    expect(headings.length).toBe(unresolved.length - pages.length)
    const linked = content.pages().flatMap(({ markdown }) => markdown.match(/\]\(\/0\d-/g) ?? [])
    expect(linked.length).toBeGreaterThan(IS_WHOLE ? 500 : 200)
    expect(headings.length).toBeLessThan(linked.length / 10)
  })
})
