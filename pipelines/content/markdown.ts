import type { Root, RootContent } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'

const parser = unified().use(remarkParse).use(remarkGfm).freeze()

/** The size of a part, in characters. The parser takes about 500 bytes per character while it works, and retains a tenth of that. */
const PART = 32 * 1024
const BEGINNING = /(?<=\n[ \t]*\n)[#\p{L}]/gu
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:.*\S.*$/gm
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/**
 * Returns the tree of a Markdown text, without positions. A long text is parsed in parts, which limits the memory to that of one
 * part and of the tree. A part begins at a heading or a word at the start of a line after an empty line. Only fenced code and HTML
 * can continue across such a line; they are not split.
 */
export function parseMarkdown(text: string): Root {
  const children: RootContent[] = []
  const known = (text.match(DEFINITION) ?? []).join('\n\n')
  const head = text.length > PART && known !== '' ? `${known}\n\n***\n\n` : ''
  const ends = [...text.matchAll(BEGINNING)].map(({ index }) => index)
  let from = 0
  let enough = PART
  for (const end of [...ends, text.length]) {
    if (end < text.length && end - from < enough) continue
    const part = head + text.slice(from, end)
    const parsed = parser.parse(part).children
    if (end < text.length && isOpen(parsed.at(-1), part)) {
      enough = 2 * (end - from)
      continue
    }
    for (const node of parsed) if (startOf(node) >= head.length) children.push(withoutPositions(node))
    from = end
    enough = PART
  }
  return { type: 'root', children }
}

const startOf = ({ position }: RootContent): number => position?.start.offset ?? 0

/** Returns whether the last node of a part may continue after the part. */
function isOpen(last: RootContent | undefined, part: string): boolean {
  if (last?.type !== 'code') return last?.type === 'html'
  const [, fence] = FENCE.exec(part.slice(startOf(last))) ?? []
  if (fence === undefined) return false
  const end = part.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return !(end.startsWith(fence) && new Set(end).size === 1)
}

function withoutPositions<T extends RootContent>(node: T): T {
  node.position = undefined
  if ('children' in node) node.children.forEach(withoutPositions)
  return node
}
