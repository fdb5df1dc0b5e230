import type { Element, ElementContent } from 'hast'
import type { Code } from 'mdast'
import { common, createLowlight } from 'lowlight'
import { codeTitle } from '../../../../pipelines/content/syntax/components.js'
import { astro, mdx } from './grammars.js'

const lowlight = createLowlight({ ...common, astro, mdx })
/** The maximum length of a code block that is highlighted, in characters: colours take about 200 bytes per word. */
const MAX_HIGHLIGHTED = 32 * 1024
/** Lines to mark: `{1,3-5}`, `highlight="7"`, `highlight={"2-3"}`. */
const LINES = /(?:^|\s)(?:(?:highlight|hl_lines)=)?(?:\{["']?|["'])([\d,\s-]+)["']?\}?/

/** Moves what the first line of a code block says beside its language to properties of its element, in place. */
export function keepMeta(code: Code): void {
  const title = codeTitle(code)
  const lines = LINES.exec(code.meta ?? '')?.[1]?.replace(/\s/g, '')
  const hProperties = {
    ...(title === undefined ? {} : { dataTitle: title }),
    ...(lines === undefined ? {} : { dataLines: lines }),
  }
  code.data = { ...code.data, hProperties }
}

/**
 * Highlights the code of a `pre` element, marks its lines, and returns its figure: a bar with the title or the language and a button
 * that copies the code, and the code. Code without a language has no bar of its own, only the button.
 */
export function decoratedCode(pre: Element): Element {
  pre.properties['tabIndex'] = 0
  const [code] = pre.children
  if (code?.type !== 'element' || code.tagName !== 'code') return pre
  const { className, dataTitle, dataLines } = code.properties
  delete code.properties['dataTitle']
  delete code.properties['dataLines']
  const language = Array.isArray(className) ? String(className[0]).replace(/^language-/, '') : ''
  const [text] = code.children
  if (text?.type === 'text' && text.value.length <= MAX_HIGHLIGHTED) {
    if (lowlight.registered(language))
      code.children = lowlight.highlight(language, text.value).children as ElementContent[]
    if (typeof dataLines === 'string') code.children = markLines(code.children, dataLines)
  }
  return framed(pre, typeof dataTitle === 'string' ? dataTitle : undefined, language)
}

/** Languages that are none: the bar does not name them. */
const UNNAMED = new Set(['', 'text', 'txt', 'plaintext', 'plain', 'none'])

function framed(pre: Element, title: string | undefined, language: string): Element {
  const named = (className: string, value: string): Element =>
    element('span', { className: [className] }, [{ type: 'text', value }])
  const bar = element('figcaption', {}, [
    ...(title === undefined ? [] : [named('title', title)]),
    ...(UNNAMED.has(language) ? [] : [named('language', language)]),
    element('button', { type: 'button' }, [
      element('span', { role: 'status' }, [{ type: 'text', value: 'Copy' }]),
    ]),
  ])
  const isBare = title === undefined && UNNAMED.has(language)
  return element('figure', { className: isBare ? ['code', 'bare'] : ['code'] }, [bar, pre])
}

const element = (
  tagName: string,
  properties: Element['properties'],
  children: ElementContent[],
): Element => ({
  type: 'element',
  tagName,
  properties,
  children,
})

/** Wraps the named lines of code in elements. @param ranges such as `1,3-5`. */
function markLines(nodes: readonly ElementContent[], ranges: string): ElementContent[] {
  const bounds = ranges.split(',').map((range) => {
    const [from, to = from] = range.split('-').map(Number)
    return [from ?? 0, to ?? 0] as const
  })
  const lines = linesOf(nodes)
  return lines.flatMap((children, index): ElementContent[] => {
    const end: ElementContent[] = index === lines.length - 1 ? [] : [{ type: 'text', value: '\n' }]
    const isMarked = bounds.some(([from, to]) => index + 1 >= from && index + 1 <= to)
    if (!isMarked || (children.length === 0 && end.length === 0)) return [...children, ...end]
    const properties = { className: ['marked'] }
    return [{ type: 'element', tagName: 'span', properties, children: [...children, ...end] }]
  })
}

/** Splits highlighted code into lines. An element over several lines becomes one on each. */
function linesOf(nodes: readonly ElementContent[]): ElementContent[][] {
  const lines: ElementContent[][] = [[]]
  const append = (parts: readonly ElementContent[][]): void => {
    for (const [index, part] of parts.entries()) {
      if (index > 0) lines.push([])
      lines.at(-1)?.push(...part)
    }
  }
  for (const node of nodes) {
    if (node.type === 'text')
      append(node.value.split('\n').map((value) => (value === '' ? [] : [{ type: 'text', value }])))
    else if (node.type === 'element')
      append(linesOf(node.children).map((children) => (children.length === 0 ? [] : [{ ...node, children }])))
  }
  return lines
}
