import type { Root, RootContent } from 'mdast'
import { directiveFromMarkdown } from 'mdast-util-directive'
import { directive } from 'micromark-extension-directive'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified, type Processor } from 'unified'
import { math, withDisplayedMath } from './math.js'

const COLON = 58

/** Adds `:::` containers to a parser, without the inline directives, which would take the colon of `a:b` for one. */
export function containers(this: Processor): void {
  const data = this.data()
  const flow = [directive().flow?.[COLON] ?? []].flat().filter((construct) => construct.concrete)
  ;(data.micromarkExtensions ??= []).push({ flow: { [COLON]: flow } })
  ;(data.fromMarkdownExtensions ??= []).push(directiveFromMarkdown())
}

const plain = unified().use(remarkParse).use(remarkGfm).use(math).freeze()
const extended = unified().use(remarkParse).use(remarkGfm).use(math).use(containers).freeze()

/** The size of a part, in characters. The parser takes about 500 bytes per character while it works, and retains a tenth of that. */
const PART = 32 * 1024
const BEGINNING = /(?<=\n[ \t]*\n)[#\p{L}]/gu
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:.*\S.*$/gm
const FENCE = /^ {0,3}(`{3,}|~{3,})/
const CONTAINER = /^[ \t]*(:{3,})/
/** The first line of blocks that may continue after an empty line. */
const OPENINGS: Readonly<Record<string, RegExp>> = {
  code: FENCE,
  containerDirective: CONTAINER,
  math: /^ {0,3}(\${2,})[ \t]*(?:\n|$)/,
}

/**
 * Returns the tree of a Markdown text; of the positions, only the first lines of links, paragraphs and HTML. A long text is parsed in
 * parts, which limits the memory to one part and the tree. A part begins at a heading or a word at the start of a line
 * after an empty line. Only fenced code, containers and HTML can continue across such a line; they are not split.
 * @param hasContainers whether `:::` begins a container.
 */
export function parseMarkdown(text: string, hasContainers = false): Root {
  const parser = hasContainers ? extended : plain
  const children: RootContent[] = []
  const definitions = (text.match(DEFINITION) ?? []).join('\n\n')
  const head = text.length > PART && definitions !== '' ? `${definitions}\n\n***\n\n` : ''
  const ends = [...text.matchAll(BEGINNING)].map(({ index }) => index)
  let from = 0
  let line = -linesIn(head)
  let enough = PART
  for (const end of [...ends, text.length]) {
    if (end < text.length && end - from < enough) continue
    const part = head + text.slice(from, end)
    const tree = parser.parse(part)
    withDisplayedMath(tree, part)
    const parsed = tree.children
    if (end < text.length && isOpen(parsed.at(-1), part)) {
      enough = 2 * (end - from)
      continue
    }
    for (const node of parsed) if (startOf(node) >= head.length) children.push(withLines(node, line))
    line += linesIn(text.slice(from, end))
    from = end
    enough = PART
  }
  return { type: 'root', children }
}

const startOf = ({ position }: RootContent): number => position?.start.offset ?? 0

const linesIn = (text: string): number => text.split('\n').length - 1

/** Returns whether the last node of a part may continue after the part. */
function isOpen(last: RootContent | undefined, part: string): boolean {
  const opening = last === undefined ? undefined : OPENINGS[last.type]
  if (last === undefined || opening === undefined) return last?.type === 'html'
  const [, fence] = opening.exec(part.slice(startOf(last))) ?? []
  if (fence === undefined) return last.type === 'containerDirective'
  const end = part.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return !(end.startsWith(fence) && new Set(end).size === 1)
}

const LOCATED = /^(?:link|definition|paragraph|html|containerDirective)$/

/** Reduces the positions of a node and of its descendants to lines. @param before number of lines before the text that was parsed. */
function withLines<T extends RootContent>(node: T, before: number): T {
  const { position } = node
  // The first line is all that is read; whole positions would take more memory than the texts.
  const start = { line: (position?.start.line ?? 1) + before } as NonNullable<
    RootContent['position']
  >['start']
  node.position = position !== undefined && LOCATED.test(node.type) ? { start, end: start } : undefined
  if ('children' in node) for (const child of node.children) withLines(child, before)
  return node
}
