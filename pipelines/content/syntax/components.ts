import type { BlockContent, Blockquote, Code, PhrasingContent, Root, RootContent } from 'mdast'
import type { ContainerDirective } from 'mdast-util-directive'
import { toString } from 'mdast-util-to-string'
import { EXIT, visit } from 'unist-util-visit'
import { snippetPath } from '../includes.js'
import { attributesOf, isJsx, restOf, textOf, type Attributes } from './attributes.js'
import type { Container, ContainerKind } from './containers.js'
import { includeLines, type IncludeLine } from './conventions.js'
import { elements, htmlBlock, sourceOf } from './html-elements.js'
import { INLINE, isShown, isWords, words, wrapped, type Converter } from './inline.js'
import { calloutOf, CODE_BLOCK, FIELD, GENERIC_CALLOUT, kindOf, LABEL, MARK, partOf } from './kinds.js'
import { fileTree } from './file-tree.js'
import { literalOf, type Jsx, type Literal } from './expressions/literals.js'
import { isScalar, Values } from './values.js'

/** The rest of the page, for the conversion of a part. */
export interface ConversionContext {
  /** Returns the converted content of a file that a line or an element names. */
  include(line: IncludeLine, at: number): RootContent[]
  /** Returns the lines of a file that mdBook includes in code; undefined if there is none. */
  textOf(target: string, at: number): string | undefined
  /** Returns the file that a component was imported from; undefined for other components. */
  importedAs(component: string): string | undefined
  /** Called for an expression that would have to be evaluated. */
  leftOut(component: string, at: number): void
}

const COMMENT = /^<!--[\s\S]*?-->$/
const ALERT = /^\[!(\w+)\][+-]?[ \t]*([^\n]*)(?:\n|$)/
const BLOCKS = ['blockquote', 'list', 'listItem', 'footnoteDefinition', 'table', 'tableRow', 'container']

/**
 * Converts the syntax of documentation sites to plain Markdown with containers, in place: a component becomes what it shows (its
 * name, texts and values, and its children), an HTML element its Markdown equivalent if there is one, and a line that includes a
 * file the content of that file. Imports, exports and comments are removed.
 */
export function convertComponents(root: Root, context: ConversionContext): void {
  root.children = new Conversion(context).flow(root.children)
}

const isBlock = (node: RootContent): boolean => isJsx(node) && !INLINE.test(node.name ?? '')

/** Returns whether a paragraph contains only block elements: MDX parses elements on one line as a paragraph. */
const hasOnlyBlocks = (nodes: readonly RootContent[]): boolean =>
  nodes.some(isBlock) &&
  nodes.every((node) => isJsx(node) || node.type === 'mdxTextExpression' || isBlank(node))

const isBlank = (node: RootContent): boolean => node.type === 'text' && node.value.trim() === ''

const lineOf = ({ position }: Pick<RootContent, 'position'>): number => position?.start.line ?? 1

const strong = (children: PhrasingContent[]): PhrasingContent => ({ type: 'strong', children })

const placed = (children: PhrasingContent[], isFlow: boolean): RootContent[] =>
  isFlow && children.length > 0 ? [{ type: 'paragraph', children }] : children

class Conversion implements Converter {
  readonly #context: ConversionContext
  readonly #values = new Values((nodes) => this.phrasing(nodes))

  constructor(context: ConversionContext) {
    this.#context = context
  }

  flow(nodes: readonly RootContent[]): RootContent[] {
    return groupedTabs(nodes.flatMap((node) => this.#replaced(node, true)))
  }

  /** Returns inline nodes. Adjacent blocks are separated by a space, so that their texts do not become one word. */
  phrasing(nodes: readonly RootContent[]): PhrasingContent[] {
    return nodes.flatMap((node, at) => {
      const before = nodes[at - 1]
      const isBetween = before !== undefined && isBlock(before) && isBlock(node)
      return [...(isBetween ? [{ type: 'text', value: ' ' } as const] : []), ...this.#replaced(node, false)]
    }) as PhrasingContent[]
  }

  /** Returns the Markdown nodes for a node. @param isFlow whether blocks are allowed, not only inline nodes. */
  #replaced(node: RootContent, isFlow: boolean): RootContent[] {
    switch (node.type) {
      case 'mdxjsEsm':
        return []
      case 'html':
        return COMMENT.test(node.value.trim()) ? [] : [node]
      case 'mdxFlowExpression':
      case 'mdxTextExpression': {
        const value = literalOf(node.data?.estree, () => this.#context.leftOut('{…}', lineOf(node)))
        if (value === undefined || typeof value === 'boolean') return []
        return isFlow ? this.#values.blocks(value) : this.#inlineValue(value)
      }
      case 'mdxJsxFlowElement':
      case 'mdxJsxTextElement':
        return isFlow ? this.#block(node) : this.#inline(node)
      case 'containerDirective':
        return [this.#directive(node)].flat()
      case 'blockquote':
        return [this.#alert(node) ?? { ...node, children: this.flow(node.children) as BlockContent[] }]
      case 'code':
        return [this.#code(node)]
      case 'paragraph':
        return this.#paragraph(node.children, node, isFlow)
      default:
        if (!('children' in node)) return [node]
        // Children are replaced only by nodes that are valid in their position.
        return [
          {
            ...node,
            children: BLOCKS.includes(node.type) ? this.flow(node.children) : this.phrasing(node.children),
          } as RootContent,
        ]
    }
  }

  #paragraph(nodes: PhrasingContent[], paragraph: RootContent, isFlow: boolean): RootContent[] {
    if (isFlow && nodes.some((node) => node.type === 'text' && node.value.includes('\uFDD2')))
      return this.#includes(nodes, lineOf(paragraph))
    if (hasOnlyBlocks(nodes)) return isFlow ? wrapped(this.flow(nodes)) : this.phrasing(nodes)
    const children = trimmed(this.phrasing(nodes))
    return toString(children).trim() === '' && !children.some(isShown)
      ? []
      : [{ ...paragraph, children } as RootContent]
  }

  /** Returns a paragraph with lines that include files: the paragraphs between them, and the content of the files. */
  #includes(nodes: readonly PhrasingContent[], line: number): RootContent[] {
    const parts = nodes.flatMap((node): RootContent[] => {
      if (node.type !== 'text') return this.phrasing([node])
      return includeLines(node.value).flatMap((part): RootContent[] => {
        if (typeof part !== 'string') return this.#context.include(part, line)
        return part.trim() === '' ? [] : [{ type: 'text', value: part.trim() }]
      })
    })
    return wrapped(parts)
  }

  /** Code, with the files that mdBook includes in it. `js{1,3}` is VitePress' way to name a language with lines. */
  #code(node: Code): Code {
    const value = node.value.replace(BOOK_INCLUDE, (whole, target: string) => {
      return this.#context.textOf(target, lineOf(node)) ?? whole
    })
    const [, lang = node.lang, lines] =
      /^([\w+#.-]+?)(?::[\w-]+)*(\{[\d,\s-]+\})$/.exec(node.lang ?? '') ?? []
    const meta = [lines, node.meta].filter((part) => typeof part === 'string').join(' ')
    return { ...node, value, lang: lang ?? null, meta: meta === '' ? null : meta }
  }

  /** Returns the callout of an alert such as `> [!NOTE] Title`; undefined for other quotes. */
  #alert({ children: [first, ...rest] }: Blockquote): Container | undefined {
    const text = first?.type === 'paragraph' ? first.children[0] : undefined
    const [whole, word = '', title = ''] = text?.type === 'text' ? (ALERT.exec(text.value) ?? []) : []
    // MkDocs' tabs are rewritten as alerts.
    const isTab = word === 'TAB'
    if (
      whole === undefined ||
      (!isTab && calloutOf(word) === undefined) ||
      first?.type !== 'paragraph' ||
      text?.type !== 'text'
    )
      return undefined
    const line: PhrasingContent = { ...text, value: text.value.slice(whole.length) }
    const [more, after] = whole.endsWith('\n')
      ? [[], first.children.slice(1)]
      : lineEnd(first.children.slice(1))
    const own = [...(line.value === '' ? [] : [line]), ...after]
    const body: RootContent[] = own.length === 0 ? rest : [{ ...first, children: own }, ...rest]
    const label: PhrasingContent[] = [
      ...(title === '' ? [] : [{ type: 'text', value: more.length > 0 ? title : title.trimEnd() } as const]),
      ...this.phrasing(more),
    ]
    return isTab
      ? { ...this.#container('tab', label, this.flow(body)), isAlone: true }
      : this.#callout(word, label, this.flow(body))
  }

  #callout(word: string, title: PhrasingContent[], children: RootContent[]): Container {
    const callout = calloutOf(word)
    const text = toString(title).trim()
    const addsWord = callout !== undefined && !text.toLowerCase().startsWith(callout.word.toLowerCase())
    const prefix: PhrasingContent[] = addsWord
      ? [{ type: 'text', value: text === '' ? callout.word : `${callout.word}: ` }]
      : []
    return {
      type: 'container',
      kind: 'callout',
      variant: callout?.variant ?? 'note',
      label: [...prefix, ...title],
      children,
    }
  }

  #directive(node: ContainerDirective): RootContent | RootContent[] {
    const [first, ...rest] = node.children
    const isLabelled = first?.type === 'paragraph' && first.data?.directiveLabel === true
    const titleAttribute = node.attributes?.['title']
    const title: PhrasingContent[] = isLabelled
      ? this.phrasing(first.children)
      : typeof titleAttribute === 'string'
        ? [{ type: 'text', value: titleAttribute }]
        : []
    const children = this.flow(isLabelled ? rest : node.children)
    const { name } = node
    if (calloutOf(name) !== undefined) return this.#callout(name, title, children)
    if (name === 'raw' || name === 'v-pre') return children
    const kind = /^code-?(?:group|tabs)$/i.test(name)
      ? 'tabs'
      : kindOf(name.charAt(0).toUpperCase() + name.slice(1))
    if (kind === 'callout') return this.#callout('', title, children)
    if (kind !== undefined) return this.#container(kind, title, children)
    return [...placed(title.length === 0 ? [] : [strong(title)], true), ...children]
  }

  #container(
    kind: ContainerKind,
    label: PhrasingContent[],
    children: RootContent[],
    items: readonly string[] = [],
  ): Container {
    if (kind === 'tabs') return { type: 'container', kind, label, children: tabsOf(children, items) }
    if (kind === 'steps') return { type: 'container', kind, label, children: stepsOf(children) }
    return { type: 'container', kind, label, children }
  }

  #block(node: Jsx): RootContent[] {
    const name = node.name ?? ''
    if (name === 'script' || name === 'style') return []
    if (name === 'hr') return [{ type: 'thematicBreak' }]
    if (name === 'include')
      return this.#context.include({ kind: 'include', target: toString(node) }, lineOf(node))
    const level = /^h([1-6])$/.exec(name)?.[1]
    if (level !== undefined) {
      const id = textOf(this.#attributes(node).all, ['id'])
      const children = this.phrasing(words(node.children))
      if (id !== undefined) children.push({ type: 'text', value: ` [#${id}]` })
      return [{ type: 'heading', depth: Number(level) as 1, children }]
    }
    if (INLINE.test(name)) return placed(this.#inline(node) as PhrasingContent[], true)
    if (name === 'details') return [this.#htmlDetails(node)]
    return htmlBlock(node, this, this.#attributes(node).all) ?? this.#component(node)
  }

  #htmlDetails(node: Jsx): Container {
    const [summary] = elements(node, /^summary$/)
    const children = (node.children as RootContent[]).flatMap((child): RootContent[] => {
      if (child === summary) return []
      // MDX wraps a summary on a line with other elements in a paragraph.
      return child.type === 'paragraph'
        ? [{ ...child, children: child.children.filter((each) => (each as RootContent) !== summary) }]
        : [child]
    })
    const label = summary === undefined ? [] : this.phrasing(words(summary.children))
    return this.#container('details', label, wrapped(this.flow(children)))
  }

  #attributes(node: Jsx): Attributes {
    return attributesOf(node, () => this.#context.leftOut(node.name ?? '', lineOf(node)))
  }

  #component(node: Jsx): RootContent[] {
    const name = partOf(node.name ?? '')
    const imported = this.#context.importedAs(node.name ?? '')
    if (imported !== undefined)
      return this.#context.include({ kind: 'include', target: imported }, lineOf(node))
    const attributes = this.#attributes(node)
    const { all } = attributes
    const chart = name === 'Mermaid' ? textOf(all, ['chart', 'value', 'code']) : undefined
    if (chart !== undefined) return [{ type: 'code', lang: 'mermaid', value: chart.trim() }]
    const file = all.get('file')
    if (name === 'Snippet' && typeof file === 'string')
      return this.#context.include({ kind: 'include', target: snippetPath(file) }, lineOf(node))
    const isComponent = /^[A-Z]/.test(name)
    const kind = isComponent ? kindOf(name) : undefined
    const children = (kind === 'tree' ? fileTree(node) : undefined) ?? this.#childrenOf(node, name, all)
    const isAlone = children.length === 0
    const items = all.get('items')
    const labels =
      kind === 'tabs' && Array.isArray(items)
        ? (items as readonly Literal[]).filter((item): item is string => typeof item === 'string')
        : []
    const used = isComponent
      ? usedBy(kind, labels.length > 0 && !isAlone, FIELD.test(name))
      : /^(?!title$|label$|alt$)/
    const { texts, code, values } = restOf(attributes, used, isAlone)
    const lang = textOf(all, ['lang', 'language'])
    const isLabel = LABEL.test(name)
    const field = FIELD.test(name) ? textOf(all, FIELD_NAMES) : undefined
    const label = this.#nameOf(attributes, field !== undefined ? [field] : isLabel ? code : [])
    const body = [
      ...texts.flatMap(({ name: key, value }) =>
        key === undefined
          ? this.#values.blocks(value)
          : placed([{ type: 'text', value: `${key}: ` }, ...this.#values.inline(value)], true),
      ),
      ...(isLabel ? [] : code.map((value): RootContent => ({ type: 'code', value, ...(lang && { lang }) }))),
      ...values.flatMap((value) => this.#values.blocks(value)),
      ...children,
    ]
    if (kind === 'callout' && (body.length > 0 || label.length > 0)) {
      const type = textOf(all, ['type', 'variant', 'kind', 'intent', 'severity']) ?? ''
      const isGeneric = GENERIC_CALLOUT.test(name) || calloutOf(type) !== undefined
      return [this.#callout(isGeneric ? type : name, label, body)]
    }
    if (kind !== undefined && kind !== 'callout') {
      if (body.length > 0 || label.length > 0) return [this.#container(kind, label, body, labels)]
      return []
    }
    const isField = FIELD.test(name) || (attributes.name !== undefined && all.has('name'))
    const line = [...label.map(bold), ...(isField ? fieldFlags(all) : [])]
    if (line.length === 0 && body.length === 0) return this.#mark(node, attributes, true)
    return [...placed(line, true), ...body]
  }

  #childrenOf(node: Jsx, name: string, all: ReadonlyMap<string, Literal>): RootContent[] {
    if (!CODE_BLOCK.test(name) || hasCode(node)) return wrapped(this.flow(node.children))
    const value = sourceOf(node, () => this.#context.leftOut(name, lineOf(node))).replace(/^\n|\n$/g, '')
    const lang = textOf(all, ['lang', 'language'])
    return value.trim() === '' ? [] : [{ type: 'code', value, ...(lang && { lang }) }]
  }

  /** Returns the name of a component that shows nothing else, if it is a word that readers see, as that of `<Check/>`. */
  #mark(node: Jsx, { url }: Attributes, isFlow: boolean): RootContent[] {
    if (url !== undefined)
      return placed([{ type: 'link', url, children: [{ type: 'text', value: url }] }], isFlow)
    const name = partOf(node.name ?? '')
    const isMark = MARK.test(name) && node.children.length === 0
    return isMark ? placed([{ type: 'text', value: name }], isFlow) : []
  }

  #inline(node: Jsx): RootContent[] {
    const name = node.name ?? ''
    if (name === 'script' || name === 'style') return []
    if (name === 'br') return [{ type: 'break' }]
    const attributes = this.#attributes(node)
    const { all, url } = attributes
    if (name === 'img') {
      const src = textOf(all, ['src'])
      const alt = textOf(all, ['alt']) ?? ''
      if (src !== undefined) return [{ type: 'image', url: src, alt }]
      return alt === '' ? [] : [{ type: 'text', value: alt }]
    }
    const isComponent = /^[A-Z]/.test(name)
    const children = this.phrasing(words(node.children))
    if (isComponent) return this.#inlineComponent(node, attributes, children)
    if (children.length === 0) return this.#nameOf(attributes, []).map(bold)
    if (name === 'a' && url !== undefined) return [{ type: 'link', url, children: children }]
    if (name === 'code' || name === 'kbd') return [{ type: 'inlineCode', value: toString(children) }]
    if (name === 'strong' || name === 'b') return [strong(children)]
    if (name === 'em' || name === 'i') return [{ type: 'emphasis', children }]
    return children
  }

  #inlineComponent(node: Jsx, attributes: Attributes, children: PhrasingContent[]): RootContent[] {
    const name = partOf(node.name ?? '')
    const isLabel = LABEL.test(name)
    const kind = kindOf(name)
    const { texts, code, values } = restOf(attributes, usedBy(kind, false), children.length === 0)
    const label = this.#nameOf(attributes, isLabel ? code : [])
    const parts: PhrasingContent[][] = [
      ...(label.length === 0 ? [] : [isLabel && children.length === 0 ? label.map(badge) : label.map(bold)]),
      ...(isLabel
        ? []
        : code.map((value): PhrasingContent[] => [
            { type: 'inlineCode', value: value.replace(/\s+/g, ' ') },
          ])),
      ...texts.map(({ value }) => this.#values.inline(value)),
      ...values.map((value) => this.#inlineValue(value)),
    ]
    // A name beside children is often an identifier, as the value of a tab is.
    const isNamed = attributes.all.has('title') || attributes.all.has('label')
    if (children.length > 0 && !isNamed && label.length > 0) parts.shift()
    if (children.length > 0) {
      const { url } = attributes
      parts.push(
        url === undefined || label.some(({ type }) => type === 'link')
          ? children
          : [{ type: 'link', url, children: children }],
      )
    }
    if (parts.length === 0) return this.#mark(node, attributes, false)
    return parts.flatMap((part, index): PhrasingContent[] =>
      index === 0 ? part : [{ type: 'text', value: ' ' }, ...part],
    )
  }

  /** Returns a value on one line. */
  #inlineValue(value: Literal): PhrasingContent[] {
    if (isScalar(value)) return this.#inlineText(value)
    const texts = this.#values.blocks(value).map((block) => wordsOf(block))
    return [{ type: 'text', value: texts.join(' ') }]
  }

  #inlineText(value: Parameters<Values['inline']>[0]): PhrasingContent[] {
    return typeof value === 'string' ? [{ type: 'text', value }] : this.#values.inline(value)
  }

  /** Returns the visible name of a component, as a link if it has a URL. @param texts for components whose text is a label. */
  #nameOf({ name, url }: Attributes, texts: readonly string[]): PhrasingContent[] {
    const text = texts[0] ?? name
    if (text === undefined) return []
    const children = this.#values.inline(text)
    return url === undefined ? children : [{ type: 'link', url, children: children }]
  }
}

const BOOK_INCLUDE = /^[ \t]*\{\{#(?:rustdoc_)?include\s+([^}]+?)\s*\}\}[ \t]*$/gm

const hasCode = (node: Jsx): boolean => {
  let hasText = false
  visit(node, 'code', () => {
    hasText = true
    return EXIT
  })
  return hasText
}

/** Properties with the name of a field of an interface, by its place in a request, as of Mintlify. */
const FIELD_NAMES = ['path', 'query', 'body', 'header', 'param', 'name']

/** Properties that a kind of component shows in its own way, or uses to identify its parts. */
function usedBy(kind: ContainerKind | undefined, hasTabs: boolean, isField = false): RegExp {
  if (kind === 'callout') return /^(?:type|kind|intent|severity|emoji)$/
  if (kind === 'tabs') return hasTabs ? /^(?:items|value|type|label|default)$/ : /^(?:value|type|default)$/
  if (isField) return /^(?:type|required|deprecated|optional|default|path|query|body|header|param)$/
  if (kind === undefined) return /^(?:type|required|deprecated|optional|default|prompt)$/
  return /^(?:value|type|default|badge|arrow|horizontal)$/
}

/** Returns the type of a parameter, whether it is required, and its default. */
function fieldFlags(all: ReadonlyMap<string, Literal>): PhrasingContent[] {
  const type = textOf(all, ['type'])
  const fallback = textOf(all, ['default'])
  return [
    ...(type === undefined
      ? []
      : ([
          { type: 'text', value: ' ' },
          { type: 'inlineCode', value: type },
        ] as const)),
    ...['required', 'optional', 'deprecated'].flatMap((flag) =>
      all.get(flag) === true ? [{ type: 'text', value: ` ${flag}` } as const] : [],
    ),
    ...(fallback === undefined
      ? []
      : ([
          { type: 'text', value: ' default: ' },
          { type: 'inlineCode', value: fallback },
        ] as const)),
  ]
}

const badge = (node: PhrasingContent): PhrasingContent =>
  node.type === 'text' ? { ...node, data: { isBadge: true } } : node

const bold = (node: PhrasingContent): PhrasingContent => (node.type === 'link' ? node : strong([node]))

/** Returns the children of a group of tabs: code becomes a tab that its title names. */
function tabsOf(children: readonly RootContent[], items: readonly string[]): RootContent[] {
  let count = 0
  return children.map((child): RootContent => {
    const item = items[count]
    const fallback: PhrasingContent[] = item === undefined ? [] : [{ type: 'text', value: item }]
    if (child.type === 'code') {
      count++
      const title = codeTitle(child) ?? item ?? child.lang ?? ''
      return {
        type: 'container',
        kind: 'tab',
        label: [{ type: 'text', value: title }],
        children: [untitled(child)],
      }
    }
    if (child.type !== 'container' || child.kind !== 'tab') return child
    count++
    return child.label.length > 0 ? child : { ...child, label: fallback }
  })
}

const TITLE = /(?:^|\s)(?:title|filename|tab|label|name)=(?:"([^"]*)"|'([^']*)')|(?:^|\s)\[([^\]]+)\]/

/** Returns the title of a code block: `title="a.ts"`, `filename=`, `[a.ts]`, or a mere file name as of Mintlify. */
export function codeTitle({ meta }: Pick<Code, 'meta'>): string | undefined {
  const [, double, single, bracket] = TITLE.exec(meta ?? '') ?? []
  const title = double ?? single ?? bracket
  if (title !== undefined && title !== '') return title
  const [first = ''] = (meta ?? '').split(/\s/)
  return /^[\w@./-]+\.[a-z]\w*$/i.test(first) ? first : undefined
}

/** Splits inline nodes at the end of their first line. */
function lineEnd(nodes: readonly PhrasingContent[]): [PhrasingContent[], PhrasingContent[]] {
  const at = nodes.findIndex(
    (node) => node.type === 'break' || (node.type === 'text' && node.value.includes('\n')),
  )
  const last = nodes[at]
  if (last === undefined) return [[...nodes], []]
  if (last.type !== 'text') return [nodes.slice(0, at), nodes.slice(at + 1)]
  const end = last.value.indexOf('\n')
  const [head, tail] = [last.value.slice(0, end), last.value.slice(end + 1)]
  return [
    [...nodes.slice(0, at), ...(head === '' ? [] : [{ ...last, value: head }])],
    [...(tail === '' ? [] : [{ ...last, value: tail }]), ...nodes.slice(at + 1)],
  ]
}

/** Groups tabs that follow one another outside of a group, as those of MkDocs do. */
function groupedTabs(nodes: readonly RootContent[]): RootContent[] {
  const isAlertTab = (node: RootContent | undefined): boolean =>
    node?.type === 'container' && node.kind === 'tab' && node.isAlone === true
  return nodes.flatMap((node, at): RootContent[] => {
    if (!isAlertTab(node)) return [node]
    if (isAlertTab(nodes[at - 1])) return []
    const end = nodes.findIndex((each, index) => index > at && !isAlertTab(each))
    const children = nodes.slice(at, end < 0 ? undefined : end)
    return [{ type: 'container', kind: 'tabs', label: [], children }]
  })
}

/** Returns code without the title that its tab shows. */
const untitled = (code: Code): Code => {
  const meta = (code.meta ?? '').replace(TITLE, '').trim()
  return { ...code, meta: meta === '' ? null : meta }
}

/** Returns the children of a group of steps: if none is a step, each heading begins one. */
function stepsOf(children: readonly RootContent[]): RootContent[] {
  const first = children.find(({ type }) => type === 'heading')
  if (
    first?.type !== 'heading' ||
    children.some((child) => child.type === 'container' && child.kind === 'step')
  )
    return [...children]
  const steps: RootContent[] = []
  for (const child of children) {
    const last = steps.at(-1)
    if (child.type === 'heading' && child.depth === first.depth)
      steps.push({ type: 'container', kind: 'step', label: [], children: [child] })
    else if (last?.type === 'container') last.children.push(child)
    else steps.push(child)
  }
  return steps
}

/** Removes the trailing space, which preceded an expression that was removed. */
function trimmed(children: PhrasingContent[]): PhrasingContent[] {
  const last = children.at(-1)
  return last?.type === 'text'
    ? [...children.slice(0, -1), { ...last, value: last.value.trimEnd() }]
    : children
}

/** Returns the text of a block with spaces between its parts. */
function wordsOf(node: RootContent): string {
  if (!('children' in node) || isWords(node)) return toString(node)
  const label = node.type === 'container' ? [toString(node.label)] : []
  return [...label, ...node.children.map((child) => wordsOf(child))].join(' ')
}
