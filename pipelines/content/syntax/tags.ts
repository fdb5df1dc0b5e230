import type { Root, RootContent } from 'mdast'
import type { Jsx } from './expressions/literals.js'

/** The tag of a component in Markdown, as VitePress has it: its name begins with a capital letter, or it includes a file. */
const TAG =
  /<(\/?)([A-Z][\w.]*|include)((?:\s+[^\s=>/"']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*(\/?)>/g
const ATTRIBUTE = /([^\s=>/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g

interface Open {
  readonly node: Jsx
  readonly html: string
}

/**
 * Converts the tags of components in Markdown, which its parser takes for HTML, to the elements that they are in MDX, in place.
 * Other HTML stays as it is.
 */
export function liftTags(root: Root): void {
  root.children = lifted(root.children, true)
}

function lifted(nodes: readonly RootContent[], isFlow: boolean): RootContent[] {
  const top: RootContent[] = []
  const open: Open[] = []
  const add = (node: RootContent): void => void (open.at(-1)?.node.children ?? top).push(node)
  for (const node of nodes) {
    if (node.type !== 'html') {
      const isInline = node.type === 'paragraph' || node.type === 'heading' || !isFlow
      add(
        'children' in node ? ({ ...node, children: lifted(node.children, !isInline) } as RootContent) : node,
      )
      continue
    }
    let from = 0
    for (const match of node.value.matchAll(TAG)) {
      const [whole, closing, name = '', attributes = '', selfClosing] = match
      addHtml(node.value.slice(from, match.index), add)
      from = match.index + whole.length
      if (closing === '/') close(name, open)
      else {
        const element = elementOf(name, attributes, isFlow, node)
        add(element)
        if (selfClosing !== '/') open.push({ node: element, html: whole })
      }
    }
    if (from === 0) add(node)
    else addHtml(node.value.slice(from), add)
  }
  return top
}

function addHtml(value: string, add: (node: RootContent) => void): void {
  if (value.trim() === '') return
  // Text between tags needs no element; anything else remains HTML.
  add(
    /[<&]/.test(value)
      ? { type: 'html', value: value.replace(/^\n+|\n+$/g, '') }
      : { type: 'text', value: value.trim() },
  )
}

/** Closes the innermost open element with a name, and its open descendants. A closing tag without an opening tag is dropped. */
function close(name: string, open: Open[]): void {
  const at = open.findLastIndex(({ node }) => node.name === name)
  if (at >= 0) open.splice(at)
}

function elementOf(name: string, attributes: string, isFlow: boolean, { position }: RootContent): Jsx {
  return {
    type: isFlow ? 'mdxJsxFlowElement' : 'mdxJsxTextElement',
    name,
    attributes: [...attributes.matchAll(ATTRIBUTE)].map(
      ([, key = '', double, single, bare]): Jsx['attributes'][number] => ({
        type: 'mdxJsxAttribute',
        name: key,
        value: double ?? single ?? bare ?? null,
      }),
    ),
    children: [],
    ...(position && { position }),
  }
}
