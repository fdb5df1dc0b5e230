import type { List, ListItem } from 'mdast'
import { attributesOf, isJsx, textOf } from './attributes.js'
import { partOf } from './kinds.js'
import type { Jsx } from './expressions/literals.js'

const ENTRY = /^(?:Folder|File)$/

/**
 * Returns a tree of files whose entries are components, `<Folder name="app">` and `<File name="page.tsx" />`, as nested lists.
 * @returns undefined if it has no such entries: it is a list already.
 */
export function fileTree(node: Jsx): List[] | undefined {
  const children = node.children.flatMap(entries)
  return children.length === 0 ? undefined : [{ type: 'list', ordered: false, spread: false, children }]
}

function entries(node: Jsx['children'][number]): ListItem[] {
  // Entries on one line are in a paragraph.
  if (node.type === 'paragraph') return node.children.flatMap(entries)
  if (!isJsx(node) || !ENTRY.test(partOf(node.name ?? ''))) return []
  const name = textOf(attributesOf(node, () => undefined).all, ['name']) ?? ''
  const isFolder = partOf(node.name ?? '') === 'Folder'
  const value = isFolder && !name.endsWith('/') ? `${name}/` : name
  return [
    {
      type: 'listItem',
      spread: false,
      children: [{ type: 'paragraph', children: [{ type: 'text', value }] }, ...(fileTree(node) ?? [])],
    },
  ]
}
