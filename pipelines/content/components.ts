import type { BlockContent, ListItem, Nodes, PhrasingContent, Root, RootContent, TableRow } from 'mdast'
import { toString } from 'mdast-util-to-string'
import type {} from 'remark-mdx'

type Jsx = Extract<Nodes, { type: 'mdxJsxFlowElement' | 'mdxJsxTextElement' }>
type Expression = Extract<Nodes, { type: 'mdxFlowExpression' | 'mdxTextExpression' }>

/** Attributes that hold the visible name of a component, in order of preference. */
const NAMES = ['title', 'label', 'name', 'value']
const COMMENT = /^<!--[\s\S]*?-->$/
/** HTML elements of inline text. All other elements are blocks, and so are components. */
const INLINE = /^(a|abbr|b|br|code|del|em|i|img|kbd|mark|s|small|span|strong|sub|sup|u)$/

/**
 * Converts MDX to plain Markdown, in place: removes imports, exports and comments; replaces a component by its name and
 * description (attributes) and its children, and an HTML element by its Markdown equivalent if there is one.
 */
export function degradeComponents(root: Root): void {
  root.children = flow(root.children)
}

function flow(nodes: readonly RootContent[]): RootContent[] {
  return nodes.flatMap((node) => replaced(node, true))
}

/** Returns inline nodes. Adjacent blocks are separated by a space, so that their texts do not become one word. */
function phrasing(nodes: readonly RootContent[]): PhrasingContent[] {
  return nodes.flatMap((node, at) => {
    const before = nodes[at - 1]
    const isBetween = before !== undefined && isBlock(before) && isBlock(node)
    return [...(isBetween ? [{ type: 'text', value: ' ' } as const] : []), ...replaced(node, false)]
  }) as PhrasingContent[]
}

const isJsx = (node: Nodes): node is Jsx => /^mdxJsx(Flow|Text)Element$/.test(node.type)

const isBlock = (node: RootContent): boolean => isJsx(node) && !INLINE.test(node.name ?? '')

/** Returns whether a paragraph contains only block elements: MDX parses elements on one line as a paragraph. */
const hasOnlyBlocks = (nodes: readonly RootContent[]): boolean =>
  nodes.some(isBlock) &&
  nodes.every((node) => isJsx(node) || node.type === 'mdxTextExpression' || isBlank(node))

const isBlank = (node: RootContent): boolean => node.type === 'text' && node.value.trim() === ''

/** Returns the Markdown nodes for a node. @param isFlow whether blocks are allowed, not only inline nodes. */
function replaced(node: RootContent, isFlow: boolean): RootContent[] {
  switch (node.type) {
    case 'mdxjsEsm':
      return []
    case 'html':
      return COMMENT.test(node.value.trim()) ? [] : [node]
    case 'mdxFlowExpression':
    case 'mdxTextExpression': {
      const value = literalOf(node)
      return value === '' ? [] : placed([{ type: 'text', value }], isFlow)
    }
    case 'mdxJsxFlowElement':
    case 'mdxJsxTextElement':
      return isFlow ? block(node) : inline(node)
    case 'paragraph': {
      if (hasOnlyBlocks(node.children))
        return isFlow ? blocksOf(flow(node.children)) : phrasing(node.children)
      const children = trimmed(phrasing(node.children))
      return toString(children).trim() === '' && !children.some(isShown) ? [] : [{ ...node, children }]
    }
    default:
      if (!('children' in node)) return [node]
      // Children are replaced only by nodes that are valid in the same position.
      return [
        { ...node, children: isBlocks(node) ? flow(node.children) : phrasing(node.children) } as RootContent,
      ]
  }
}

/** Removes the trailing space, which preceded an expression that was removed. */
function trimmed(children: PhrasingContent[]): PhrasingContent[] {
  const last = children.at(-1)
  return last?.type === 'text'
    ? [...children.slice(0, -1), { ...last, value: last.value.trimEnd() }]
    : children
}

const isShown = (node: RootContent): boolean =>
  node.type === 'image' || node.type === 'html' || node.type === 'imageReference'

const isBlocks = (node: RootContent): boolean =>
  ['blockquote', 'list', 'listItem', 'footnoteDefinition', 'table', 'tableRow'].includes(node.type)

const placed = (children: PhrasingContent[], isFlow: boolean): RootContent[] =>
  isFlow && children.length > 0 ? [{ type: 'paragraph', children }] : children

function block(node: Jsx): RootContent[] {
  const name = node.name ?? ''
  if (name === 'script' || name === 'style') return []
  if (name === 'hr') return [{ type: 'thematicBreak' }]
  const level = /^h([1-6])$/.exec(name)?.[1]
  if (level !== undefined) {
    const id = attribute(node, 'id')
    const children = phrasing(words(node.children))
    if (id !== undefined) children.push({ type: 'text', value: ` [#${id}]` })
    return [{ type: 'heading', depth: Number(level) as 1, children }]
  }
  if (INLINE.test(name)) return placed(inline(node) as PhrasingContent[], true)
  const ofHtml = HTML_BLOCKS[name]?.(node)
  if (ofHtml !== undefined) return ofHtml
  const about = attribute(node, 'description')
  return [
    ...placed(nameOf(node), true),
    ...(about === undefined ? [] : placed([{ type: 'text', value: about }], true)),
    ...blocksOf(flow(node.children)),
  ]
}

/**
 * Converters of HTML elements whose structure Markdown can express. They return undefined if the structure is incomplete; the
 * element is then replaced by its children.
 */
const HTML_BLOCKS: Readonly<Record<string, (node: Jsx) => RootContent[] | undefined>> = {
  ul: (node) => list(node, false),
  ol: (node) => list(node, true),
  table(node) {
    const rows = elements(node, /^tr$/).map((row): TableRow => {
      const cells = elements(row, /^t[hd]$/)
      return {
        type: 'tableRow',
        children: cells.map((cell) => ({ type: 'tableCell', children: phrasing(words(cell.children)) })),
      }
    })
    return rows.length === 0 ? undefined : [{ type: 'table', children: rows }]
  },
  blockquote: (node) => [{ type: 'blockquote', children: blocksOf(flow(node.children)) as BlockContent[] }],
  pre(node) {
    const [code = node] = elements(node, /^code$/)
    const lang = /(?:^|\s)language-(\S+)/.exec(attribute(code, 'className') ?? '')?.[1]
    return [{ type: 'code', value: sourceOf(code).replace(/^\n|\n$/g, ''), ...(lang && { lang }) }]
  },
  dt: (node) => placed([{ type: 'strong', children: phrasing(words(node.children)) }], true),
}

function list(node: Jsx, ordered: boolean): RootContent[] | undefined {
  const children = elements(node, /^li$/).map((item): ListItem => {
    return { type: 'listItem', spread: false, children: blocksOf(flow(item.children)) as BlockContent[] }
  })
  return children.length === 0 ? undefined : [{ type: 'list', ordered, spread: false, children }]
}

/** Returns the nearest descendants with a matching name, at any depth, but not those inside another match. */
function elements(node: Jsx, name: RegExp): Jsx[] {
  const within = (nodes: readonly RootContent[]): Jsx[] =>
    nodes.flatMap((each) => {
      if (isJsx(each) && name.test(each.name ?? '')) return [each]
      return 'children' in each ? within(each.children) : []
    })
  return within(node.children)
}

/** Returns the text of a node as it is written in the source. */
function sourceOf(node: Nodes): string {
  if (node.type === 'mdxFlowExpression' || node.type === 'mdxTextExpression') return literalOf(node)
  if (node.type === 'break') return '\n'
  if ('children' in node) return node.children.map(sourceOf).join('')
  return 'value' in node ? node.value : ''
}

/**
 * Wraps inline nodes among blocks in paragraphs: a component that is written on one line contains inline nodes, one on several
 * lines contains blocks.
 */
function blocksOf(nodes: readonly RootContent[]): RootContent[] {
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

const WORDS = new Set([
  'text',
  'emphasis',
  'strong',
  'delete',
  'inlineCode',
  'break',
  'link',
  'image',
  'linkReference',
  'imageReference',
  'footnoteReference',
])

const isWords = (node: RootContent): node is PhrasingContent => WORDS.has(node.type)

/** Returns inline nodes instead of paragraphs, for content that must fit on one line. */
function words(nodes: readonly RootContent[]): RootContent[] {
  return nodes.flatMap((node) => (node.type === 'paragraph' ? node.children : [node]))
}

function inline(node: Jsx): RootContent[] {
  const name = node.name ?? ''
  if (name === 'script' || name === 'style') return []
  if (name === 'br') return [{ type: 'break' }]
  if (name === 'img') {
    const url = attribute(node, 'src')
    const alt = attribute(node, 'alt') ?? ''
    if (url !== undefined) return [{ type: 'image', url, alt }]
    return alt === '' ? [] : [{ type: 'text', value: alt }]
  }
  const children = phrasing(words(node.children))
  if (children.length === 0) return nameOf(node)
  const title = /^[A-Z]/.test(name) ? attribute(node, 'title') : undefined
  if (title !== undefined)
    return [
      { type: 'strong', children: [{ type: 'text', value: title }] },
      { type: 'text', value: ' ' },
      ...children,
    ]
  const url = name === 'a' ? attribute(node, 'href') : undefined
  if (url !== undefined) return [{ type: 'link', url, children }]
  if (name === 'code' || name === 'kbd') return [{ type: 'inlineCode', value: toString(children) }]
  if (name === 'strong' || name === 'b') return [{ type: 'strong', children }]
  if (name === 'em' || name === 'i') return [{ type: 'emphasis', children }]
  return children
}

/** Returns the visible name of a component, as a link if it has an `href`. */
function nameOf(node: Jsx): PhrasingContent[] {
  const value = NAMES.map((name) => attribute(node, name)).find((found) => found !== undefined)
  if (value === undefined) return []
  const text: PhrasingContent = { type: 'text', value }
  const url = attribute(node, 'href')
  return url === undefined
    ? [{ type: 'strong', children: [text] }]
    : [{ type: 'link', url, children: [text] }]
}

/** Returns the value of an attribute; undefined if it is missing, blank, or an expression that would have to be evaluated. */
function attribute(node: Jsx, name: string): string | undefined {
  for (const each of node.attributes) {
    if (each.type !== 'mdxJsxAttribute' || each.name !== name) continue
    if (typeof each.value === 'string') return each.value.trim() === '' ? undefined : each.value
    const literal = each.value?.data?.estree
    return literal ? literalValue(literal) : undefined
  }
  return undefined
}

const literalOf = (node: Expression): string => (node.data?.estree && literalValue(node.data.estree)) ?? ''

type Program = NonNullable<NonNullable<Expression['data']>['estree']>

/** Returns the value of `'…'`, `` `…` `` or a number as a string; undefined for any other expression. */
function literalValue({ body: [statement] }: Program): string | undefined {
  if (statement?.type !== 'ExpressionStatement') return undefined
  const { expression } = statement
  if (expression.type === 'Literal' && /^(string|number)$/.test(typeof expression.value))
    return String(expression.value)
  if (expression.type === 'TemplateLiteral' && expression.expressions.length === 0)
    return expression.quasis[0]?.value.cooked ?? undefined
  return undefined
}
