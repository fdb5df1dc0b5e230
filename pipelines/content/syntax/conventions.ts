/** A line that includes a file, until the tree is there: hexadecimal digits pass every parser unchanged. */
const INCLUDE_TOKEN = /\uFDD2(\w)([\da-f]*)\uFDD3/

/** The line that opens or closes a code block, with its marker and what follows. */
export const FENCE = /^(?:[ \t>]|[-*+][ \t]|\d+[.)][ \t])*(`{3,}|~{3,})([^`]*)$/
/** A line of dollars, which begins or ends math. */
const MATH = /^[ \t>]*\${2,}[ \t]*$/
const PREFIX = '(?:[ \\t>]|[-*+][ \\t]|\\d+[.)][ \\t])*'
/** `::: tip Title {open}`; a name that is followed by `[` or `{` is already the syntax of directives. */
const CONTAINER = new RegExp(`^(${PREFIX})(:{3,})[ \\t]*([A-Za-z][\\w-]*)(?![\\w-]|[[{])[ \\t]*(.*?)[ \\t]*$`)
const CONTAINER_SPACED = new RegExp(`^(${PREFIX})(:{3,})[ \\t]+([A-Za-z][\\w-]*[[{].*)$`)
const HEADING_ID =
  /[ \t]*(?:\\?\{#([^\s{}[\]]+)[^{}]*\}|\{\/\*[ \t]*#([^\s*[\]]+)[ \t]*\*\/\})[ \t]*#*[ \t]*$/
const HEADING = new RegExp(`^${PREFIX}#{1,6}[ \\t]`)
const SNIPPET = /^([ \t>]*)<<<[ \t]*(\S.*)$/
const COMMENT_INCLUDE = /^([ \t>]*)<!--\s*@include:\s*(.*?)\s*-->[ \t]*$/
const BOOK_INCLUDE = /^([ \t>]*)\{\{#(?:rustdoc_)?include\s+([^}]+?)\s*\}\}[ \t]*$/

/**
 * Rewrites the lines of other conventions, outside of code blocks, in the syntax that the parsers know; the number of lines stays the
 * same. `::: tip Title` becomes `:::tip[Title]`, `## Title {#id}` becomes `## Title [#id]`, and lines that include a file become
 * tokens that `includeIn` recognises.
 */
export function rewriteConventions(text: string): string {
  const lines = text.split('\n')
  let fence: string | undefined
  let mathEnd = -1
  for (const [index, line] of lines.entries()) {
    if (index <= mathEnd) continue
    const marker = FENCE.exec(line)
    if (fence !== undefined) {
      if (marker?.[1]?.startsWith(fence) === true && marker[2]?.trim() === '') fence = undefined
      continue
    }
    if (marker !== null) fence = marker[1]
    else if (MATH.test(line)) {
      mathEnd = lines.findIndex((each, at) => at > index && MATH.test(each))
      // Without an end, everything below would be math.
      if (mathEnd < 0) lines[index] = line.replaceAll('$', '\\$')
    } else lines[index] = rewritten(line, lines[index + 1] ?? '')
  }
  return lines.join('\n')
}

function rewritten(line: string, next: string): string {
  if (line.includes(':::')) return container(line)
  if (line.includes('{') && (HEADING.test(line) || /^ {0,3}(?:=+|-+)[ \t]*$/.test(next)))
    return line.replace(HEADING_ID, (_, id?: string, commented?: string) => ` [#${id ?? commented ?? ''}]`)
  for (const [kind, pattern] of [
    ['s', SNIPPET],
    ['i', COMMENT_INCLUDE],
    ['b', BOOK_INCLUDE],
  ] as const) {
    const [, prefix, target] = pattern.exec(line) ?? []
    if (prefix !== undefined && target !== undefined)
      return `${prefix}\uFDD2${kind}${Buffer.from(target).toString('hex')}\uFDD3`
  }
  return line
}

function container(line: string): string {
  const [, prefix, colons, name, rest = ''] = CONTAINER.exec(line) ?? []
  if (prefix === undefined || colons === undefined || name === undefined)
    return line.replace(CONTAINER_SPACED, '$1$2$3')
  const [, title = '', attributes = ''] = /^(.*?)[ \t]*(\{[^{}]*\})?$/.exec(rest) ?? []
  // A closing fence on the same line (`::: tip text :::`) is no container.
  if (/:::\s*$/.test(title)) return line
  const label = title === '' ? '' : `[${balanced(title) ? title : title.replace(/[[\]]/g, '\\$&')}]`
  return `${prefix}${colons}${name}${label}${attributes}`
}

function balanced(title: string): boolean {
  let depth = 0
  for (const character of title) {
    depth += character === '[' ? 1 : character === ']' ? -1 : 0
    if (depth < 0) return false
  }
  return depth === 0
}

/** A line that includes a file: as of VitePress' `<<<`, as of its `@include`, or as of mdBook. */
export interface IncludeLine {
  readonly kind: 'snippet' | 'include' | 'book'
  readonly target: string
}

/** Returns the lines of a text that include files, and the texts between them. */
export function includeLines(text: string): (string | IncludeLine)[] {
  const parts = text.split(new RegExp(INCLUDE_TOKEN.source, 'g'))
  // The split returns text, kind, target, text, …
  return parts.flatMap((part, index): (string | IncludeLine)[] => {
    if (index % 3 === 0) return [part]
    if (index % 3 === 2) return []
    const kind = part === 's' ? 'snippet' : part === 'i' ? 'include' : 'book'
    return [{ kind, target: Buffer.from(parts[index + 1] ?? '', 'hex').toString() }]
  })
}
