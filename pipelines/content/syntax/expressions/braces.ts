import type { Root } from 'mdast'
import { visit } from 'unist-util-visit'
import { ContentError } from '../../page.js'
import { FENCE } from '../conventions.js'
import { expressionAt, moduleState, NestedTooDeeply, type Found } from './javascript.js'
import { programOf } from './literals.js'

/** An expression that cannot be parsed, and is shown as it is written. */
export interface Fault {
  readonly line: number
  /** True if the parser of MDX cannot parse the page, because the expression is the value of a property and has no end. */
  readonly isFatal: boolean
}

/** A text of which the parser of MDX finds every expression in little time. */
export interface Prepared {
  readonly text: string
  readonly faults: readonly Fault[]
  /** Restores the original expressions in the tree of the text, in place. */
  restore(root: Root): void
}

/** Stands for a brace that begins no expression. No text contains it: these characters are removed from every file. */
const BRACE = '\uFDD6'
const LITERAL = /^\uFDD5(\d+)$/
const PLACEHOLDER = /\{"\uFDD5(\d+)"(?:\/\*[\s.]*\*\/)?\}/g
/**
 * The length from which an expression is replaced by a short one while the page is parsed: micromark parses an expression again for
 * each brace in it, so thousands of records would take minutes.
 */
const LONG = 400
/** The number of characters of expressions that may be parsed without success, for each character of the page. */
const PATIENCE = 4
const ESM = /(?:import|export)[ \t{*]/y
const SPACE = /(?:\s+|\/\*[\s\S]*?\*\/|\/\/[^\n]*\n)*/y
const MAX_MODULE_PARTS = 50
/** The properties of a component before a position, where values may be spread. */
const IN_TAG = /<[A-Za-z][^<>]*\s$/
const MAX_TAG = 2_000

/**
 * Prepares a text for the parser of MDX: a brace that begins no valid expression is replaced by a character that stands for it, so that
 * the page can be parsed, and a long expression by a short one. Each expression is parsed once.
 */
export function prepareBraces(text: string): Prepared {
  const scanner = new Scanner(text)
  scanner.scan()
  return scanner
}

class Scanner implements Prepared {
  readonly faults: Fault[] = []
  readonly #source: string
  readonly #long: { readonly source: string; readonly found: Found }[] = []
  #parts: string[] = []
  /** The position up to which the text is in the parts. */
  #copied = 0
  #line = 1
  /** The position up to which lines are counted. */
  #counted = 0
  #patience: number

  constructor(source: string) {
    this.#source = source
    this.#patience = PATIENCE * source.length + 10_000
  }

  get text(): string {
    return this.#parts.join('') + this.#source.slice(this.#copied)
  }

  scan(): void {
    const text = this.#source
    let at = 0
    while (at < text.length) {
      if (at === 0 || text[at - 1] === '\n') {
        const end = this.#fencedEnd(at) ?? this.#moduleEnd(at)
        if (end !== undefined) {
          at = end
          continue
        }
      }
      const character = text[at]
      if (character === '\\') at += 2
      else if (character === '`') at = this.#codeEnd(at)
      else if (character === '{') at = this.#brace(at)
      else at++
    }
  }

  restore(root: Root): void {
    const restored = (value: string): string =>
      value
        .replaceAll(BRACE, '{')
        .replace(PLACEHOLDER, (_, index: string) => this.#long[Number(index)]?.source ?? '')
    const restoreFields = (object: object): void => {
      for (const [name, value] of Object.entries(object))
        if (typeof value === 'string' && /[\uFDD5\uFDD6]/.test(value))
          (object as Record<string, unknown>)[name] = restored(value)
    }
    visit(root, (node) => {
      if (node.type === 'mdxFlowExpression' || node.type === 'mdxTextExpression') this.#restoreProgram(node)
      if (node.type === 'mdxJsxFlowElement' || node.type === 'mdxJsxTextElement')
        for (const attribute of node.attributes) {
          if (typeof attribute.value === 'object' && attribute.value !== null)
            this.#restoreProgram(attribute.value)
          else restoreFields(attribute)
        }
      restoreFields(node)
    })
  }

  #restoreProgram(node: ExpressionNode): void {
    const [statement] = node.data?.estree?.body ?? []
    if (statement?.type !== 'ExpressionStatement' || statement.expression.type !== 'Literal') return
    const [, index] = LITERAL.exec(String(statement.expression.value)) ?? []
    const long = index === undefined ? undefined : this.#long[Number(index)]
    if (long === undefined) return
    node.value = long.source.slice(1, -1)
    node.data = { ...node.data, estree: programOf(long.found.node as never) }
  }

  /** Returns the end of the code block that begins with a line; undefined if none does. */
  #fencedEnd(at: number): number | undefined {
    const fence = FENCE.exec(this.#lineAt(at))?.[1]
    if (fence === undefined) return undefined
    for (let next = this.#nextLine(at); next < this.#source.length; next = this.#nextLine(next)) {
      const closing = FENCE.exec(this.#lineAt(next))
      if (closing?.[1]?.startsWith(fence) === true && closing[2]?.trim() === '') return this.#nextLine(next)
    }
    return this.#source.length
  }

  /** Returns the end of the imports and exports that begin with a line; undefined if none do. */
  #moduleEnd(at: number): number | undefined {
    ESM.lastIndex = at
    if (!ESM.test(this.#source)) return undefined
    let end = at
    for (let part = 0; part < MAX_MODULE_PARTS && end < this.#source.length; part++) {
      const blank = this.#source.slice(end + 1).search(/\n[ \t]*\n/)
      end = blank < 0 ? this.#source.length : end + 1 + blank
      const state = moduleState(this.#source.slice(at, end))
      if (state === 'whole') return end
      if (state === 'none') return undefined
    }
    return undefined
  }

  /** Returns the end of the code that begins with backticks, or of the backticks if they begin none. */
  #codeEnd(at: number): number {
    const [run = '`'] = /^`+/.exec(this.#source.slice(at, at + 100)) ?? []
    const paragraph = this.#source.indexOf('\n\n', at)
    const text = this.#source.slice(at + run.length, paragraph < 0 ? undefined : paragraph)
    const closing = new RegExp(`(?<!\`)${run}(?!\`)`).exec(text)
    return at + run.length + (closing === null ? 0 : closing.index + run.length)
  }

  /** Returns the position from which the text after an opening brace is to be scanned. */
  #brace(at: number): number {
    const found = this.#expression(at)
    if (found !== undefined) {
      const { node, end } = found
      if (node !== undefined && end - at > LONG && this.#isReplaceable(at, end))
        this.#replaceLong(at, { node, end })
      return end
    }
    const before = this.#source.slice(this.#source.lastIndexOf('\n', at - 1) + 1, at)
    this.#patience -= before.length
    // In a quote, the marks of its lines are not part of the expression.
    if (this.#patience >= 0 && /^[ \t]*>/.test(before)) return at + 1
    const isValue = /[\w-]=$/.test(this.#source.slice(Math.max(0, at - 20), at))
    const value = isValue ? this.#balancedEnd(at) : undefined
    this.faults.push({ line: this.#lineOf(at), isFatal: isValue && value === undefined })
    this.#replace(at, value ?? at + 1, value === undefined ? BRACE : `{void 0${this.#lines(at, value)}}`)
    return value ?? at + 1
  }

  /** Returns the expression in braces, without a node if it is a comment; undefined if it is not valid. Its end is behind the closing brace. */
  #expression(at: number): { node: Found['node'] | undefined; end: number } | undefined {
    const text = this.#source
    const from = this.#spaceEnd(at + 1)
    if (text[from] === '}') return { node: undefined, end: from + 1 }
    if (this.#patience < 0) return undefined
    const isSpread = text.startsWith('...', from)
    if (isSpread && !IN_TAG.test(text.slice(Math.max(0, at - MAX_TAG), at))) return undefined
    const found = this.#parsed(isSpread ? from + 3 : from)
    if (found === undefined) return undefined
    const end = this.#spaceEnd(found.end)
    if (text[end] === '}') return { ...found, end: end + 1 }
    this.#patience -= end - from
    return undefined
  }

  /** @throws ContentError if the expression is nested too deeply. */
  #parsed(from: number): Found | undefined {
    try {
      return expressionAt(this.#source, from, (failedAt) => {
        this.#patience -= failedAt - from
      })
    } catch (error) {
      if (!(error instanceof NestedTooDeeply)) throw error
      throw new ContentError(this.#lineOf(from), 'an expression is nested too deeply')
    }
  }

  #spaceEnd(at: number): number {
    SPACE.lastIndex = at
    return at + (SPACE.exec(this.#source)?.[0].length ?? 0)
  }

  /** Returns whether an expression may be replaced: it is no spread, and has no lines whose indentation counts. */
  #isReplaceable(at: number, end: number): boolean {
    const source = this.#source.slice(at, end)
    const lineStart = this.#source.lastIndexOf('\n', at - 1) + 1
    const isIndented = /^[ \t>]/.test(this.#source.slice(lineStart, lineStart + 1))
    return (
      !/^\{\s*\.\.\./.test(source) && !/\n[ \t]*>/.test(source) && !(isIndented && /`[^`]*\n/.test(source))
    )
  }

  #replaceLong(at: number, found: Found): void {
    const index = this.#long.push({ source: this.#source.slice(at, found.end), found }) - 1
    this.#replace(at, found.end, `{"\uFDD5${String(index)}"${this.#lines(at, found.end)}}`)
  }

  /** Returns a comment with as many lines as a part of the text, which are indented like its own. */
  #lines(from: number, to: number): string {
    const [, ...lines] = this.#source.slice(from, to).split('\n')
    return lines.length === 0
      ? ''
      : `/*${lines.map((line) => `\n${/^[ \t]*/.exec(line)?.[0] ?? ''}.`).join('')}*/`
  }

  #replace(from: number, to: number, by: string): void {
    this.#parts.push(this.#source.slice(this.#copied, from), by)
    this.#copied = to
  }

  /** Returns the position behind the brace that closes another, by the number of braces; undefined if there is none nearby. */
  #balancedEnd(at: number): number | undefined {
    let depth = 0
    for (let end = at; end < Math.min(this.#source.length, at + 10 * LONG); end++) {
      if (this.#source[end] === '{') depth++
      if (this.#source[end] === '}' && --depth === 0) return end + 1
    }
    return undefined
  }

  /** Returns the number of a position's line. @param at not before that of the last call. */
  #lineOf(at: number): number {
    this.#line += this.#source.slice(this.#counted, at).split('\n').length - 1
    this.#counted = at
    return this.#line
  }

  #lineAt(at: number): string {
    const end = this.#source.indexOf('\n', at)
    return this.#source.slice(at, end < 0 ? undefined : end)
  }

  #nextLine(at: number): number {
    const end = this.#source.indexOf('\n', at)
    return end < 0 ? this.#source.length : end + 1
  }
}

interface ExpressionNode {
  value: string
  data?: { estree?: ReturnType<typeof programOf> | null | undefined } | undefined
}
