import type { Nodes, Root } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkMdx from 'remark-mdx'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { ContentError } from '../page.js'
import { rewriteConventions } from './conventions.js'
import { containers, parseMarkdown } from './markdown.js'
import { liftTags } from './tags.js'

const mdx = unified().use(remarkParse).use(remarkMdx).use(remarkGfm).use(containers).freeze()

/**
 * Parses the body of a file, without its frontmatter.
 * @throws ContentError with the line that is malformed.
 */
export function parseBody(body: string, file: string): Root {
  const text = rewriteConventions(body)
  if (file.endsWith('.mdx')) return parseMdx(text)
  const root = parseMarkdown(text, true)
  liftTags(root)
  return root
}

function parseMdx(text: string): Root {
  try {
    return mdx.parse(text)
  } catch (error) {
    if (!text.includes('<!--')) throw malformed(error as MdxFailure)
    return parseCommented(text, error as MdxFailure)
  }
}

/** Parses MDX with HTML comments, which Docusaurus allows. @param first the error with them. */
function parseCommented(text: string, first: MdxFailure): Root {
  const commented = text.replace(
    /<!--([\s\S]*?)-->/g,
    (_, comment: string) => `{/*${comment.replaceAll('*/', '* /')}*/}`,
  )
  try {
    return mdx.parse(commented)
  } catch {
    throw malformed(first)
  }
}

interface MdxFailure {
  readonly line?: number
  readonly reason?: string
  readonly message?: string
  readonly cause?: unknown
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
