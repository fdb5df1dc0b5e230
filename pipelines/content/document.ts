import { remarkHeading } from 'fumadocs-core/mdx-plugins/remark-heading'
import { remarkStructure } from 'fumadocs-core/mdx-plugins/remark-structure'
import type { Heading, Root, RootContent, Text } from 'mdast'
import { defaultHandlers, type Handle, type Options } from 'mdast-util-to-markdown'
import { toString } from 'mdast-util-to-string'
import remarkGfm from 'remark-gfm'
import remarkMdx from 'remark-mdx'
import remarkParse from 'remark-parse'
import remarkStringify from 'remark-stringify'
import { unified } from 'unified'
import { VFile } from 'vfile'
import { degradeComponents } from './components.js'
import { splitFrontmatter } from './frontmatter.js'
import { parseMarkdown } from './markdown.js'
import { headingId, setHeadingIds } from './headings.js'
import { resolveLinks } from './links.js'
import { ContentError, type Draft, type Section, type StructuredData, type TocEntry } from './page.js'

type Format = 'md' | 'mdx'

/** Writes text without escaping underscores between letters, which cannot begin an emphasis: names_like_this stay unchanged. */
const text: Handle = (node: Text, parent, state, info) =>
  defaultHandlers.text(node, parent, state, info).replace(/(?<=[\p{L}\p{N}_])\\_(?=[\p{L}\p{N}_\\])/gu, '_')

const heading: Handle = (node: Heading, parent, state, info) => {
  const line = defaultHandlers.heading(node, parent, state, info)
  const { ownId } = node.data ?? {}
  return ownId === undefined ? line : `${line} [#${ownId}]`
}

const STYLE: Options = { bullet: '-', rule: '-', fences: true, listItemIndent: 'one' }
const GFM = { tablePipeAlign: false }

const mdx = unified().use(remarkParse).use(remarkMdx).use(remarkGfm, GFM).freeze()
const writer = unified()
  .use(remarkGfm, GFM)
  .use(remarkStringify, { ...STYLE, handlers: { text, heading } })
  .freeze()
const reader = unified()
  .use(remarkGfm, GFM)
  .use(remarkHeading, { customId: false })
  .use(remarkStructure, { stringify: { handlers: { text } } })
  .freeze()

/**
 * Parses the text of a file into the draft of its page.
 * @param file path relative to the content folder; its extension selects the format.
 * @throws ContentError with the line that is malformed.
 */
export function parseDocument(source: string, file: string): Draft {
  const { frontmatter, body } = splitFrontmatter(source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n'))
  const root = parseBody(body, file.endsWith('.mdx') ? 'mdx' : 'md')
  degradeComponents(root)
  resolveLinks(root, file)
  setHeadingIds(root)
  const vfile = new VFile()
  reader.runSync(root, vfile)
  const { toc, structuredData } = vfile.data as { toc: TocEntry[]; structuredData: StructuredData }
  const title = frontmatter.title ?? firstTitle(root)
  return {
    ...frontmatter,
    title,
    toc: toc.map(({ title, url, depth }) => ({ title: title.trim(), url, depth })),
    markdown: write(root.children),
    structuredData: withoutGaps(structuredData, toc),
    sections: sectionsOf(root, title),
  }
}

function parseBody(body: string, format: Format): Root {
  try {
    return format === 'mdx' ? mdx.parse(body) : parseMarkdown(body)
  } catch (error) {
    throw malformed(error as MdxFailure)
  }
}

interface MdxFailure {
  readonly line?: number
  readonly reason?: string
  readonly cause?: unknown
}

/** Converts an error of the parser. Without a line number, it uses the position in the message, such as `(3:14-3:15)`. */
function malformed({ line, reason = '', cause }: MdxFailure): ContentError {
  const named = /\((\d+):\d+/.exec(reason)?.[1]
  const detail = cause instanceof Error ? `: ${cause.message.replace(/ \(\d+:\d+\)$/, '')}` : ''
  return new ContentError(line ?? Number(named ?? 1), reason + detail)
}

const write = (children: RootContent[]): string => writer.stringify({ type: 'root', children }).trim()

function firstTitle(root: Root): string | undefined {
  const found = root.children.find((node) => node.type === 'heading' && node.depth === 1)
  return found === undefined ? undefined : toString(found).trim() || undefined
}

/**
 * Completes structured data. Fumadocs leaves `heading` undefined for content above the first heading, and omits empty headings and
 * those in quotes, although they are in the toc and may have contents.
 */
function withoutGaps({ headings, contents }: StructuredData, toc: readonly TocEntry[]): StructuredData {
  const contentById = new Map(headings.map(({ id, content }) => [id, content]))
  const all = contents as readonly { heading?: string; content: string }[]
  return {
    headings: toc.map(({ title, url }) => ({
      id: url.slice(1),
      content: contentById.get(url.slice(1)) ?? title.trim(),
    })),
    contents: all.map(({ heading = '', content }) => ({ heading, content })),
  }
}

/** Splits a page into sections at its headings. Headings inside quotes and lists belong to the surrounding section. */
function sectionsOf(root: Root, title: string | undefined): Section[] {
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
    const text = toString(node).trim()
    above = above.filter(({ depth }) => depth < node.depth)
    // The page's own title does not say where on the page a section is.
    if (node.depth !== 1 || text !== title) above.push({ depth: node.depth, text })
  }
  end()
  return sections
}
