import type { PhrasingContent, RootContent } from 'mdast'
import { toString } from 'mdast-util-to-string'

/** Converts nodes to plain Markdown. */
export interface Converter {
  /** Returns blocks. */
  flow(nodes: readonly RootContent[]): RootContent[]
  /** Returns inline nodes. */
  phrasing(nodes: readonly RootContent[]): PhrasingContent[]
}

/** HTML elements of inline text. All other elements are blocks, and so are components. */
export const INLINE = /^(a|abbr|b|br|code|del|em|i|img|kbd|mark|s|small|span|strong|sub|sup|u)$/

const WORDS = new Set([
  'text',
  'emphasis',
  'strong',
  'delete',
  'inlineCode',
  'inlineMath',
  'break',
  'link',
  'image',
  'linkReference',
  'imageReference',
  'footnoteReference',
])

export const isWords = (node: RootContent): node is PhrasingContent => WORDS.has(node.type)

/**
 * Wraps inline nodes among blocks in paragraphs: a component that is written on one line contains inline nodes, one on several lines
 * contains blocks.
 */
export function wrapped(nodes: readonly RootContent[]): RootContent[] {
  const blocks: RootContent[] = []
  let line: PhrasingContent[] = []
  const end = (): void => {
    if (toString(line).trim() !== '' || line.some(isShown)) blocks.push({ type: 'paragraph', children: line })
    line = []
  }
  for (const node of nodes) {
    if (isWords(node)) line.push(node)
    else {
      end()
      blocks.push(node)
    }
  }
  end()
  return blocks
}

/** Returns inline nodes instead of paragraphs, for content that must fit on one line. */
export function words(nodes: readonly RootContent[]): RootContent[] {
  return nodes.flatMap((node) => (node.type === 'paragraph' ? node.children : [node]))
}

/** Returns whether a node shows something although it has no text. */
export const isShown = (node: RootContent): boolean =>
  node.type === 'image' || node.type === 'html' || node.type === 'imageReference'
