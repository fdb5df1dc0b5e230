import type { Paragraph, Root, RootContent } from 'mdast'
import { mathFromMarkdown } from 'mdast-util-math'
import { math as mathSyntax } from 'micromark-extension-math'
import type { Code, Construct, State, Tokenizer } from 'micromark-util-types'
import type { Processor } from 'unified'

const DOLLAR = 36
const BACKSLASH = 92

/**
 * Adds math to a parser: `$a^2$` in a line, and `$$` around lines. A dollar begins math only if there is text directly after it, text
 * directly before the closing dollar, and neither letter nor digit outside; so prices and variables of the shell are no math.
 */
export function math(this: Processor): void {
  const { text, flow } = mathSyntax()
  const data = this.data()
  ;(data.micromarkExtensions ??= []).push({
    text: { [DOLLAR]: guarded(text?.[DOLLAR], inline) },
    flow: { [DOLLAR]: guarded(flow?.[DOLLAR], fence) },
  })
  ;(data.fromMarkdownExtensions ??= []).push(mathFromMarkdown())
}

/** Text that would be math if its dollars were not escaped. */
export const MATH_LIKE =
  /(?<![\p{L}\p{N}_$\\])(?:\$(?![\s$])[^$]*(?<![\s\\])\$(?![\p{L}\p{N}_$])|\$\$+(?!\$)[^$]*\$\$)|^\$\$+$/gmu

/** Returns a construct that begins only where a check succeeds. */
function guarded(constructs: Construct | readonly Construct[] | undefined, tokenize: Tokenizer): Construct[] {
  return [constructs ?? []].flat().map((construct) => ({
    ...construct,
    tokenize(effects, ok, nok) {
      const { previous } = this
      if (isWord(previous)) return nok
      return effects.check({ tokenize, partial: true }, construct.tokenize.call(this, effects, ok, nok), nok)
    },
  }))
}

const isWord = (code: Code): boolean =>
  code !== null && code > 0 && /[\p{L}\p{N}_]/u.test(String.fromCharCode(code))

const isSpace = (code: Code): boolean => code === 32 || code === -1 || code === -2

const isLineEnd = (code: Code): boolean => code === null || (code < -2 && code > -6)

/** Checks for math in a line: `$a$`, or `$$a$$` with any text in it. */
const inline: Tokenizer = (effects, ok, nok) => {
  let before: Code = null
  const begin: State = (code) => {
    effects.enter('data')
    effects.consume(code)
    return second
  }
  const second: State = (code) => {
    // More dollars cannot be a price, so that their own construct decides.
    if (code === DOLLAR) return done(ok, code)
    return isSpace(code) || isLineEnd(code) ? done(nok, code) : inside(code)
  }
  const inside: State = (code) => {
    if (code === null) return done(nok, code)
    if (isLineEnd(code)) return newLine(code)
    if (code === DOLLAR) {
      if (isSpace(before) || isLineEnd(before) || before === BACKSLASH) return done(nok, code)
      effects.consume(code)
      return after
    }
    before = code
    effects.consume(code)
    return inside
  }
  const newLine: State = (code) => {
    effects.exit('data')
    effects.enter('lineEnding')
    effects.consume(code)
    effects.exit('lineEnding')
    before = code
    effects.enter('data')
    return inside
  }
  const after: State = (code) => done(isWord(code) || code === DOLLAR ? nok : ok, code)
  const done = (next: State, code: Code): State | undefined => {
    effects.exit('data')
    return next(code)
  }
  return begin
}

/** Checks for a line of dollars alone. */
const fence: Tokenizer = (effects, ok, nok) => {
  let isAfter = false
  const begin: State = (code) => {
    effects.enter('data')
    effects.consume(code)
    return inside
  }
  const inside: State = (code) => {
    if (isLineEnd(code)) {
      effects.exit('data')
      return ok(code)
    }
    if (isSpace(code)) isAfter = true
    else if (code !== DOLLAR || isAfter) {
      effects.exit('data')
      return nok(code)
    }
    effects.consume(code)
    return inside
  }
  return begin
}

/** Makes blocks of the lines that consist of `$$a$$` alone, in place, as GitHub shows them. @param text from which the tree was made. */
export function withDisplayedMath(root: Root, text: string): void {
  const displayed = (nodes: readonly RootContent[]): RootContent[] =>
    nodes.map((node) => {
      if (node.type === 'paragraph') return displayOf(node, text) ?? node
      if ('children' in node) node.children = displayed(node.children)
      return node
    })
  root.children = displayed(root.children)
}

function displayOf({ children, position }: Paragraph, text: string): RootContent | undefined {
  const [only] = children
  const start = only?.position?.start.offset
  if (children.length !== 1 || only?.type !== 'inlineMath' || start === undefined) return undefined
  if (!text.startsWith('$$', start)) return undefined
  return { type: 'math', value: only.value.trim(), ...(position && { position }) }
}
