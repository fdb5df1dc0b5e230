import type { Element } from 'hast'

/** The languages of code that other sites show as a drawing, with what it is. */
const DIAGRAMS: Readonly<Record<string, string>> = {
  mermaid: 'Mermaid',
  plantuml: 'PlantUML',
  d2: 'D2',
  dot: 'Graphviz',
  graphviz: 'Graphviz',
}

/** Returns the source of a diagram as a figure that says what it is; undefined for other code. */
export function diagramOf(pre: Element): Element | undefined {
  const [code] = pre.children
  if (code?.type !== 'element' || code.tagName !== 'code') return undefined
  const { className, dataTitle } = code.properties
  const language = Array.isArray(className) ? String(className[0]).replace(/^language-/, '') : ''
  const name = Object.hasOwn(DIAGRAMS, language) ? DIAGRAMS[language] : undefined
  if (name === undefined) return undefined
  const title = typeof dataTitle === 'string' ? `${dataTitle} · ` : ''
  const caption: Element = {
    type: 'element',
    tagName: 'figcaption',
    properties: {},
    children: [{ type: 'text', value: `${title}Diagram, as ${name} source` }],
  }
  const source: Element = { ...code, properties: { className: className ?? [] } }
  return {
    type: 'element',
    tagName: 'figure',
    properties: { className: ['code', 'diagram'] },
    children: [caption, { ...pre, properties: { tabIndex: 0 }, children: [source] }],
  }
}
