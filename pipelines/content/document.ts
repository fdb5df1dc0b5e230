import { remarkHeading } from 'fumadocs-core/mdx-plugins/remark-heading'
import { remarkStructure } from 'fumadocs-core/mdx-plugins/remark-structure'
import type { Heading, Root, RootContent, Text } from 'mdast'
import { mathToMarkdown } from 'mdast-util-math'
import { defaultHandlers, type Handle, type Options } from 'mdast-util-to-markdown'
import { toString } from 'mdast-util-to-string'
import remarkGfm from 'remark-gfm'
import remarkStringify from 'remark-stringify'
import { unified } from 'unified'
import { visit } from 'unist-util-visit'
import { VFile } from 'vfile'
import { Assembly } from './assembly.js'
import { toolOf } from './frontmatter/tool.js'
import {
  hashOf,
  type Draft,
  type Included,
  type Section,
  type StructuredData,
  type TocEntry,
} from './page.js'
import { hasContainers, markedBlocks, plainBlocks } from './syntax/containers.js'
import { headingId, setHeadingIds } from './syntax/headings.js'
import { MATH_LIKE } from './syntax/math.js'

/**
 * Writes text without escaping underscores between letters, which cannot begin an emphasis: names_like_this stay unchanged. Dollars
 * are escaped only where they would be math.
 */
const text: Handle = (node: Text, parent, state, info) =>
  defaultHandlers
    .text(node, parent, state, info)
    .replace(/(?<=[\p{L}\p{N}_])\\_(?=[\p{L}\p{N}_\\])/gu, '_')
    .replace(MATH_LIKE, (dollars) => dollars.replaceAll('$', '\\$'))

const heading: Handle = (node: Heading, parent, state, info) => {
  const line = defaultHandlers.heading(node, parent, state, info)
  const { ownId } = node.data ?? {}
  return ownId === undefined ? line : `${line} [#${ownId}]`
}

const handlers = { ...mathToMarkdown().handlers, text, heading }
const STYLE: Options = { bullet: '-', rule: '-', fences: true, listItemIndent: 'one' }
const GFM = { tablePipeAlign: false }

const writer = unified()
  .use(remarkGfm, GFM)
  .use(remarkStringify, { ...STYLE, handlers })
  .freeze()
const reader = unified()
  .use(remarkGfm, GFM)
  .use(remarkHeading, { customId: false })
  .use(remarkStructure, {
    types: ['heading', 'paragraph', 'blockquote', 'tableCell', 'code', 'math'],
    stringify: { handlers: { ...mathToMarkdown().handlers, text }, fences: true },
  })
  .freeze()

/**
 * Parses the text of a file into the draft of its page.
 * @param file path relative to the content folder; its extension selects the format.
 * @param included the files that it may include.
 * @throws ContentError with the line that is malformed.
 */
export function parseDocument(source: string, file: string, included: readonly Included[] = []): Draft {
  const assembly = new Assembly(included)
  const { frontmatter, fields, root } = assembly.page(source, file)
  setHeadingIds(root)
  const marked = hasContainers(root.children) ? write(markedBlocks(root.children)) : undefined
  root.children = plainBlocks(root.children)
  const vfile = new VFile()
  reader.runSync(root, vfile)
  const { toc, structuredData } = vfile.data as { toc: TocEntry[]; structuredData: StructuredData }
  const titles = headingTitles(root)
  const entries = toc.map(({ url, depth }) => ({ title: titles.get(url) ?? '', url, depth }))
  const titled = frontmatter.title === undefined ? firstTitle(root) : undefined
  const title = frontmatter.title ?? (titled && headingTitle(titled))
  const { links, ids, findings } = assembly
  const { home: _home, ...written } = frontmatter
  const { description, tags } = written
  const page = {
    description,
    tags,
    toc: entries,
    marked,
    markdown: write(root.children),
    structuredData: withoutGaps(structuredData, entries),
    sections: sectionsOf(root, title, titled),
  }
  const tool = toolOf(fields, source)
  return { ...written, ...page, title, tool, links, ids, findings, hash: hashOf(page) }
}

const write = (children: RootContent[]): string => writer.stringify({ type: 'root', children }).trim()

/** Returns the titles of all headings by their anchors. */
function headingTitles(root: Root): Map<string, string> {
  const titles = new Map<string, string>()
  visit(root, 'heading', (node) => void titles.set(`#${headingId(node)}`, headingTitle(node)))
  return titles
}

const headingTitle = (heading: Heading): string =>
  toString(heading, { includeHtml: false }).replace(/\s+/g, ' ').trim()

/** Returns the first heading of level 1 that has a text. */
const firstTitle = (root: Root): Heading | undefined =>
  root.children.find(
    (node): node is Heading => node.type === 'heading' && node.depth === 1 && headingTitle(node) !== '',
  )

/**
 * Completes structured data. Fumadocs leaves `heading` undefined for content above the first heading, and omits empty headings and
 * headings in quotes, although both are in the toc and may have contents. Its headings are Markdown, with escapes; ours are text.
 */
function withoutGaps(
  { contents }: Pick<StructuredData, 'contents'>,
  toc: readonly TocEntry[],
): StructuredData {
  const all = contents as readonly { heading?: string; content: string }[]
  return {
    headings: toc.map(({ title, url }) => ({ id: url.slice(1), content: title.trim() })),
    contents: all.map(({ heading = '', content }) => ({ heading, content })),
  }
}

/**
 * Splits a page into sections at its headings. Headings inside quotes and lists belong to the surrounding section.
 * @param titled the heading from which the page has its title.
 */
function sectionsOf(root: Root, title: string | undefined, titled: Heading | undefined): Section[] {
  const sections: Section[] = []
  let above: { depth: number; text: string }[] = []
  let id = ''
  let body: RootContent[] = []
  const end = (): void => {
    if (id === '' && body.length === 0) return
    sections.push({ id, path: above.map(({ text }) => text), markdown: write(body) })
  }
  for (const node of root.children) {
    if (node.type !== 'heading') {
      body.push(node)
      continue
    }
    end()
    id = headingId(node)
    body = []
    const text = headingTitle(node)
    above = above.filter(({ depth }) => depth < node.depth)
    // The page's own title does not say where on the page a section is.
    if (node !== titled && (node.depth !== 1 || text !== title)) above.push({ depth: node.depth, text })
  }
  end()
  return sections
}
