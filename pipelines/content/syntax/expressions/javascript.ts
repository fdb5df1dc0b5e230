import { Parser, type Expression, type Options } from 'acorn'
import jsx from 'acorn-jsx'
import { coded } from '../../../errors.js'

/** The version of JavaScript that MDX accepts. Parentheses are nodes, so that the end of an expression includes them. */
const OPTIONS: Options = { ecmaVersion: 2024, sourceType: 'module', preserveParens: true }

const Jsx = Parser.extend(jsx())

/** Thrown for an expression whose nesting exceeds the stack. */
export class NestedTooDeeply extends coded('HW_CONTENT_INVALID') {}

/** An expression in a text, and the position of the first character after it. */
export interface Found {
  readonly node: Expression
  readonly end: number
}

/**
 * Returns the expression that begins at a position; undefined if there is none.
 * @param failed called with the position of the error.
 * @throws NestedTooDeeply
 */
export function expressionAt(
  text: string,
  from: number,
  failed: (at: number) => void = () => undefined,
): Found | undefined {
  try {
    const node = Jsx.parseExpressionAt(text, from, OPTIONS)
    return { node, end: node.end }
  } catch (error) {
    // Acorn reports a stack that is too small as an error of syntax.
    if (!(error instanceof SyntaxError) || error.message.includes('stack space')) throw new NestedTooDeeply()
    failed((error as { raisedAt?: number }).raisedAt ?? text.length)
    return undefined
  }
}

/** Returns whether a text is a module, or the beginning of one. */
export function moduleState(text: string): 'whole' | 'beginning' | 'none' {
  try {
    Jsx.parse(text, OPTIONS)
    return 'whole'
  } catch (error) {
    return ((error as { raisedAt?: number }).raisedAt ?? 0) >= text.trimEnd().length ? 'beginning' : 'none'
  }
}
