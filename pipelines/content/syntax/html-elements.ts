import type { BlockContent, ListItem, Nodes, RootContent, TableRow } from 'mdast'
import { isJsx, textOf } from './attributes.js'
import { words, wrapped, type Converter } from './inline.js'
import { literalOf, type Jsx, type Literal } from './expressions/literals.js'

/**
 * Returns the Markdown of an HTML element whose structure Markdown can express; undefined for other elements, and if the structure
 * is incomplete. The element is then replaced by its children.
 */
export function htmlBlock(
  node: Jsx,
  conversion: Converter,
  attributes: ReadonlyMap<string, Literal>,
): RootContent[] | undefined {
  const blocks = (nodes: readonly RootContent[]): BlockContent[] =>
    wrapped(conversion.flow(nodes)) as BlockContent[]
  switch (node.name) {
    case 'ul':
    case 'ol': {
      const children = elements(node, /^li$/).map((item): ListItem => {
        return { type: 'listItem', spread: false, children: blocks(item.children) }
      })
      return children.length === 0
        ? undefined
        : [{ type: 'list', ordered: node.name === 'ol', spread: false, children }]
    }
    case 'table': {
      const rows = elements(node, /^tr$/).map((row): TableRow => {
        const cells = elements(row, /^t[hd]$/)
        return {
          type: 'tableRow',
          children: cells.map((cell) => ({
            type: 'tableCell',
            children: conversion.phrasing(words(cell.children)),
          })),
        }
      })
      return rows.length === 0 ? undefined : [{ type: 'table', children: rows }]
    }
    case 'blockquote':
      return [{ type: 'blockquote', children: blocks(node.children) }]
    case 'pre': {
      const [code = node] = elements(node, /^code$/)
      const names = textOf(attributes, ['className']) ?? ''
      const lang = /(?:^|\s)language-(\S+)/.exec(classOf(code) ?? names)?.[1]
      return [{ type: 'code', value: sourceOf(code).replace(/^\n|\n$/g, ''), ...(lang && { lang }) }]
    }
    case 'dt': {
      const children = conversion.phrasing(words(node.children))
      return children.length === 0 ? [] : [{ type: 'paragraph', children: [{ type: 'strong', children }] }]
    }
    default:
      return undefined
  }
}

const classOf = ({ attributes }: Jsx): string | undefined => {
  const attribute = attributes.find((each) => each.type === 'mdxJsxAttribute' && each.name === 'className')
  return typeof attribute?.value === 'string' ? attribute.value : undefined
}

/** Returns the nearest descendants with a matching name, at any depth, without descendants of a match. */
export function elements(node: Jsx, name: RegExp): Jsx[] {
  const within = (nodes: readonly RootContent[]): Jsx[] =>
    nodes.flatMap((each) => {
      if (isJsx(each) && name.test(each.name ?? '')) return [each]
      return 'children' in each ? within(each.children) : []
    })
  return within(node.children)
}

/** Returns the text of a node as it is written in the source. @param leftOut called for expressions that have no value. */
export function sourceOf(node: Nodes, leftOut: () => void = () => undefined): string {
  if (node.type === 'mdxFlowExpression' || node.type === 'mdxTextExpression') {
    const value = literalOf(node.data?.estree, leftOut)
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
  if (node.type === 'break') return '\n'
  if ('children' in node) return node.children.map((child) => sourceOf(child, leftOut)).join('')
  return 'value' in node ? node.value : ''
}
