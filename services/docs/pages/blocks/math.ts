import type { Element } from 'hast'
import type { Raw } from 'mdast-util-to-hast'
import type { InlineMath, Math } from 'mdast-util-math'
import katex from 'katex'

/** The maximum length of a formula that is typeset, in characters: its MathML is many times as long. */
const MAX_TYPESET = 4_000

/** Returns the element of a formula, for the sanitiser. `typeset` replaces it. */
export const mathElement = (_state: unknown, { type, value }: InlineMath | Math): Element => ({
  type: 'element',
  tagName: 'code',
  properties: { dataMath: type === 'math' ? 'display' : 'inline' },
  children: [{ type: 'text', value }],
})

/** Returns the formula of a code block with the language `math`, as GitHub has it; undefined for other code. */
export function mathOf({ children: [code] }: Element): Raw | Element | undefined {
  if (code?.type !== 'element' || code.tagName !== 'code') return undefined
  const { className } = code.properties
  if (!Array.isArray(className) || className[0] !== 'language-math') return undefined
  return typeset({ ...code, properties: { dataMath: 'display' } })
}

/** Returns the MathML of a formula, which browsers show without styles and scripts; its source as code if it is not valid TeX. */
export function typeset(code: Element): Raw | Element {
  const [text] = code.children
  const tex = text?.type === 'text' ? text.value.trim() : ''
  const displayMode = code.properties['dataMath'] === 'display'
  const source: Element = { ...code, properties: {} }
  const shown: Element = displayMode
    ? { type: 'element', tagName: 'pre', properties: { tabIndex: 0 }, children: [source] }
    : source
  if (tex.length > MAX_TYPESET) return shown
  try {
    const html = katex.renderToString(tex, {
      output: 'mathml',
      displayMode,
      strict: 'ignore',
      maxExpand: 200,
    })
    // The policy of the pages forbids styles in elements.
    const mathml = html.replace(/^<span class="katex">|<\/span>$/g, '').replace(/ style="[^"]*"/g, '')
    const value = displayMode ? `<div class="scroll" tabindex="0">${mathml}</div>` : mathml
    return { type: 'raw', value }
  } catch (error) {
    if (!(error instanceof katex.ParseError)) throw error
    return shown
  }
}
