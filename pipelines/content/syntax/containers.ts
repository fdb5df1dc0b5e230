import type { BlockContent, Node, PhrasingContent, Root, RootContent } from 'mdast'

/**
 * Parts of a page with a design of their own. A group (tabs, cards, steps) contains containers of the singular kind.
 */
export type ContainerKind =
  | 'callout'
  | 'details'
  | 'tabs'
  | 'tab'
  | 'cards'
  | 'card'
  | 'steps'
  | 'step'
  | 'tree'

/** A part of a page that other sites show by a component, a container or an alert. */
export interface Container extends Node {
  type: 'container'
  kind: ContainerKind
  /** The design of a callout: `note`, `tip`, `important`, `warning` or `caution`. */
  variant?: string | undefined
  label: PhrasingContent[]
  children: RootContent[]
  /** True for a tab outside of a group. */
  isAlone?: boolean | undefined
}

declare module 'mdast' {
  interface RootContentMap {
    container: Container
  }
}

/** Removes containers from the blocks of a page: the label of each becomes bold text, and a callout of mere text a quote. */
export function plainBlocks(nodes: readonly RootContent[]): RootContent[] {
  return mapContainers(nodes, ({ kind, label, children }) => {
    const blocks = plainBlocks(children)
    const whole = [...labelled(label), ...blocks]
    return kind === 'callout' && blocks.every(isText)
      ? [{ type: 'blockquote', children: whole as BlockContent[] }]
      : whole
  })
}

/** Replaces containers by marks, which are HTML comments, around their label and their blocks. */
export function markedBlocks(nodes: readonly RootContent[]): RootContent[] {
  return mapContainers(nodes, ({ kind, variant, label, children }) => [
    mark(
      [kind, ...(variant === undefined ? [] : [variant]), ...(label.length === 0 ? [] : ['labelled'])].join(
        ' ',
      ),
    ),
    ...labelled(label),
    ...markedBlocks(children),
    mark('/'),
  ])
}

/** Returns whether a page has containers. */
export const hasContainers = (nodes: readonly RootContent[]): boolean =>
  nodes.some((node) => node.type === 'container' || ('children' in node && hasContainers(node.children)))

const MARK = /^<!--\uFDD4([a-z /]+)-->$/

const mark = (text: string): RootContent => ({ type: 'html', value: `<!--\uFDD4${text}-->` })

/** Returns whether a block consists of text alone: code in quotes and headings in quotes are hard to find. */
const isText = (node: RootContent): boolean =>
  node.type === 'paragraph' ||
  ((node.type === 'list' || node.type === 'listItem' || node.type === 'blockquote') &&
    node.children.every(isText))

/** Returns the label as a paragraph in bold type, unless it is a link. */
function labelled(label: readonly PhrasingContent[]): RootContent[] {
  if (label.length === 0) return []
  const children = label.flatMap((node) => (node.type === 'strong' ? node.children : [node]))
  const isLink = children.some(({ type }) => type === 'link')
  return [{ type: 'paragraph', children: isLink ? children : [{ type: 'strong', children }] }]
}

function mapContainers(
  nodes: readonly RootContent[],
  replace: (container: Container) => RootContent[],
): RootContent[] {
  return nodes.flatMap((node) => {
    if (node.type === 'container') return replace(node)
    if (!('children' in node) || !hasContainers(node.children)) return [node]
    return [{ ...node, children: mapContainers(node.children, replace) } as RootContent]
  })
}

/** Builds the containers again from the marks of parsed Markdown, in place. Marks without a partner are removed. */
export function restoreContainers(root: Root): void {
  root.children = restored(root.children)
}

function restored(nodes: readonly RootContent[]): RootContent[] {
  const open: { container: Container; isLabelled: boolean }[] = []
  const top: RootContent[] = []
  for (const node of nodes) {
    const into = open.at(-1)?.container.children ?? top
    const [, text] = node.type === 'html' ? (MARK.exec(node.value) ?? []) : []
    if (text === '/') {
      const last = open.pop()
      if (last?.isLabelled === true) last.container.label = labelOf(last.container.children.shift())
    } else if (text !== undefined) {
      const [kind, ...flags] = text.split(' ') as [ContainerKind, ...string[]]
      const variant = flags.find((flag) => flag !== 'labelled')
      const container: Container = { type: 'container', kind, variant, label: [], children: [] }
      into.push(container)
      open.push({ container, isLabelled: flags.includes('labelled') })
    } else
      into.push('children' in node ? ({ ...node, children: restored(node.children) } as RootContent) : node)
  }
  return top
}

/** Returns the label of its paragraph, without the bold type that it has in Markdown. */
function labelOf(node: RootContent | undefined): PhrasingContent[] {
  if (node?.type !== 'paragraph') return []
  const [only] = node.children
  return node.children.length === 1 && only?.type === 'strong' ? only.children : node.children
}
