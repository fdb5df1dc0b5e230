import type { Expression } from 'estree-jsx'
import { toString } from 'mdast-util-to-string'
import { expressionAt } from './javascript.js'
import { Markup, valueOf, type Literal } from './literals.js'

/** The beginning of a declared constant, of which a type may be named, or of the default export. */
const DECLARED =
  /(?:^|\n)[ \t]*(?:(?:export[ \t]+)?const[ \t]+(\w+)[^=\n]*?=|export[ \t]+default|module\.exports[ \t]*=)[ \t]*(?=\S)/g

/**
 * Returns what a module of JavaScript or TypeScript exports by default, if it consists of literals; the module is not run. JSX
 * becomes its text.
 * @throws an error if the module exports no such value.
 */
export function moduleObject(source: string): unknown {
  const scope = new Map<string, Literal>()
  let exported: Literal | undefined
  for (const match of source.matchAll(DECLARED)) {
    const expression = expressionAt(source, match.index + match[0].length)
    if (expression === undefined) continue
    // Parts with calls and functions are left out.
    const value = valueOf(expression.node as Expression, scope, () => undefined)
    if (match[1] === undefined) exported = value
    else if (value !== undefined) scope.set(match[1], value)
  }
  if (exported === undefined) throw new Error('it exports no object by default')
  return plainOf(exported)
}

function plainOf(value: Literal): unknown {
  if (value instanceof Markup)
    return value.nodes
      .map((node) => textOf(node))
      .join('')
      .trim()
  if (value instanceof Map)
    return Object.fromEntries(
      [...(value as ReadonlyMap<string, Literal>)].map(([name, each]) => [name, plainOf(each)]),
    )
  return Array.isArray(value) ? value.map((each) => plainOf(each as Literal)) : value
}

const textOf = (node: Markup['nodes'][number]): string => toString(node)
