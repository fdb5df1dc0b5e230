import type { Nodes, Root } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkMdx from 'remark-mdx'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { ContentError } from '../page.js'
import { rewriteConventions } from './conventions.js'
import { prepareBraces, type Fault } from './expressions/braces.js'
import { rewriteAdmonitions } from './lines/admonitions.js'
import { rewriteShortcodes } from './lines/shortcodes.js'
import { containers, parseMarkdown } from './markdown.js'
import { math, withDisplayedMath } from './math.js'
import { liftTags } from './tags.js'

const mdx = unified().use(remarkParse).use(remarkMdx).use(remarkGfm).use(containers).use(math).freeze()

/** The tree of a file, and the expressions in it that are not valid. */
export interface Body {
  readonly root: Root
  readonly faults: readonly Fault[]
}

/**
 * Parses the body of a file, without its frontmatter.
 * @throws ContentError with the line that is malformed.
 */
export function parseBody(body: string, file: string): Body {
  const text = rewriteConventions(rewriteAdmonitions(rewriteShortcodes(body)))
  if (file.endsWith('.mdx')) return parseMdx(text)
  return { root: asMarkdown(text), faults: [] }
}

function asMarkdown(text: string): Root {
  const root = parseMarkdown(text, true)
  liftTags(root)
  return root
}

/** Parses MDX. A page with an invalid expression that hides its structure is parsed as Markdown, which has no invalid text. */
function parseMdx(text: string): Body {
  const prepared = prepareBraces(text)
  const { faults } = prepared
  try {
    const root = parseCommented(prepared.text)
    withDisplayedMath(root, prepared.text)
    prepared.restore(root)
    return { root, faults }
  } catch (error) {
    const failure = error as MdxFailure
    const isExpression = failure.source === 'micromark-extension-mdx-expression'
    const content = malformed(failure)
    if (!isExpression && !faults.some(({ isFatal }) => isFatal)) throw content
    const own = isExpression ? [{ line: content.line, isFatal: true }] : []
    return { root: asMarkdown(text), faults: [...faults, ...own] }
  }
}

/** Parses MDX that may have HTML comments, which Docusaurus allows. */
function parseCommented(text: string): Root {
  try {
    return mdx.parse(text)
  } catch (error) {
    if (!text.includes('<!--')) throw error
    const commented = text.replace(
      /<!--([\s\S]*?)-->/g,
      (_, comment: string) => `{/*${comment.replaceAll('*/', '* /')}*/}`,
    )
    try {
      return mdx.parse(commented)
    } catch {
      // The first error has the right positions.
      throw error
    }
  }
}

interface MdxFailure {
  readonly line?: number
  readonly reason?: string
  readonly message?: string
  readonly cause?: unknown
  /** The extension of the parser that has failed. */
  readonly source?: string
}

/** Converts an error of the parser. Without a line number, it uses the position in the message, such as `(3:14-3:15)`. */
function malformed({ line, reason, message = '', cause }: MdxFailure): ContentError {
  const text = reason ?? message
  const messageLine = /\((\d+):\d+/.exec(text)?.[1]
  const detail = cause instanceof Error ? `: ${cause.message.replace(/ \(\d+:\d+\)$/, '')}` : ''
  return new ContentError(line ?? Number(messageLine ?? 1), text + detail)
}

/** Returns the line of a node in its file. */
export const lineOf = ({ position }: Pick<Nodes, 'position'>): number => position?.start.line ?? 1
