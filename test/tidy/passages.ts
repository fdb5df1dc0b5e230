import { extname } from 'node:path'
import * as ts from 'typescript'

/** A piece of text that people read, on one line, without the marks of its comment. */
export interface Passage {
  /** Number of its first line, from 1. */
  readonly line: number
  readonly text: string
}

export interface Source {
  /** Comments, string literals, and the text of documents. */
  readonly prose: readonly Passage[]
  /** Declared and used identifiers, their words separated: `laidAside` is "laid aside". */
  readonly names: readonly Passage[]
  /** All docstrings. */
  readonly docstrings: readonly Passage[]
  /** The docstrings of exported functions and of methods. */
  readonly functions: readonly Passage[]
}

/** Takes a file apart. Files other than TypeScript and JavaScript are prose only, one passage per paragraph. */
export function sourceOf(path: string, content: string): Source {
  return ['.ts', '.js', '.mjs'].includes(extname(path))
    ? codeOf(path, content)
    : { prose: paragraphsOf(content), names: [], docstrings: [], functions: [] }
}

function codeOf(path: string, content: string): Source {
  const file = ts.createSourceFile(path, content, ts.ScriptTarget.Latest, true)
  const lineAt = (position: number): number => file.getLineAndCharacterOfPosition(position).line + 1
  const prose: Passage[] = []
  const names: Passage[] = []
  const functions: Passage[] = []
  const comments = new Map<number, ts.CommentRange>()
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(content, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(content, node.end) ?? []),
    ]
    for (const range of ranges) comments.set(range.pos, range)
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node))
      names.push({ line: lineAt(node.getStart()), text: words(node.text) })
    else if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node)
    )
      prose.push({ line: lineAt(node.getStart()), text: node.text })
    const doc = isApi(node) ? docstringOf(node) : undefined
    if (doc !== undefined) functions.push({ line: lineAt(doc.getStart()), text: plain(doc.getText()) })
    // getChildren has the tokens too, whose comments forEachChild would miss.
    for (const child of node.getChildren(file)) visit(child)
  }
  visit(file)
  prose.push(...runs(content, [...comments.values()], lineAt))
  const docstrings = [...comments.values()]
    .filter(({ pos }) => content.startsWith('/**', pos))
    .map(({ pos, end }) => ({ line: lineAt(pos), text: plain(content.slice(pos, end)) }))
  return { prose, names, docstrings, functions }
}

/** Whether a node is an exported function, a method of a class, or an exported constant that is a function. */
function isApi(node: ts.Node): boolean {
  if (ts.isFunctionDeclaration(node)) return exported(node)
  if (ts.isVariableStatement(node)) {
    const value = node.declarationList.declarations[0]?.initializer
    return exported(node) && value !== undefined && ts.isArrowFunction(value)
  }
  return (
    ts.isMethodDeclaration(node) && ts.isClassDeclaration(node.parent) && !ts.isPrivateIdentifier(node.name)
  )
}

function exported(node: ts.FunctionDeclaration | ts.VariableStatement): boolean {
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false
}

function docstringOf(node: ts.Node): ts.Node | undefined {
  return ts.getJSDocCommentsAndTags(node).find((each) => ts.isJSDoc(each))
}

/** Joins line comments that follow one another, which are one text. */
function runs(
  content: string,
  ranges: readonly ts.CommentRange[],
  lineAt: (position: number) => number,
): Passage[] {
  const passages: Passage[] = []
  let previousEnd = -1
  for (const { pos, end } of ranges.toSorted((a, b) => a.pos - b.pos)) {
    const comment = plain(content.slice(pos, end))
    const last = passages.at(-1)
    const follows = previousEnd >= 0 && /^\n\s*$/.test(content.slice(previousEnd, pos))
    if (follows && last !== undefined && content.startsWith('//', pos))
      passages[passages.length - 1] = { ...last, text: `${last.text} ${comment}` }
    else passages.push({ line: lineAt(pos), text: comment })
    previousEnd = end
  }
  return passages
}

/** Removes the marks of a comment and its line breaks. */
function plain(comment: string): string {
  return comment
    .replace(/^\/\*+|\*+\/$/g, '')
    .replace(/^\s*(\/\/|\*)/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
}

function words(identifier: string): string {
  return identifier
    .replace('#', '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
}

function paragraphsOf(content: string): Passage[] {
  const passages: Passage[] = []
  let lines: string[] = []
  const end = (line: number): void => {
    if (lines.length > 0) passages.push({ line: line - lines.length, text: lines.join(' ') })
    lines = []
  }
  const all = content.split('\n')
  for (const [index, raw] of all.entries()) {
    const line = raw.replace(/^\s*(#|\/\/|--)/, '').trim()
    if (line === '') end(index + 1)
    else lines.push(line)
  }
  end(all.length + 1)
  return passages
}
