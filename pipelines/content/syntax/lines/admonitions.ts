import { FENCE } from '../conventions.js'
import { calloutOf } from '../kinds.js'

/** `!!! note "Title"`, the same with `???` for one that can be closed, and `=== "Title"` for a tab: the lines below are indented. */
const BLOCK =
  /^([ \t]*)(?:(!!!|\?\?\?\+?)[ \t]+([\w-]+)((?:[ \t]+[\w-]+)*)(?:[ \t]+"(.*)")?|===[!+]?[ \t]+"(.*)")[ \t]*$/
const INDENT = 4

/**
 * Rewrites the admonitions and tabs of MkDocs as alerts in quotes, which end without a line of their own, so that the number of lines
 * stays the same.
 */
export function rewriteAdmonitions(text: string): string {
  if (!/^[ \t]*(?:!!!|\?\?\?|===)/m.test(text)) return text
  return rewritten(text.split('\n')).join('\n')
}

function rewritten(lines: readonly string[]): string[] {
  const result: string[] = []
  let fence: string | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const marker = FENCE.exec(line)
    const match = fence === undefined && marker === null ? BLOCK.exec(line) : null
    if (match === null) {
      if (fence === undefined) fence = marker?.[1]
      else if (marker?.[1]?.startsWith(fence) === true && marker[2]?.trim() === '') fence = undefined
      result.push(line)
      continue
    }
    const [, indent = '', , type = '', , title, tab] = match
    const end = endOf(lines, at + 1, indent.length + INDENT)
    const body = lines.slice(at + 1, end).map((each) => each.slice(indent.length + INDENT))
    const head = tab === undefined ? alertOf(type, title) : `[!TAB] ${tab}`
    result.push(`${indent}> ${head}`, ...rewritten(body).map((each) => `${indent}> ${each}`.trimEnd()))
    at = end - 1
  }
  return result
}

/** Returns the number of the first line that is not indented, and is not followed by indented ones after empty lines. */
function endOf(lines: readonly string[], from: number, indent: number): number {
  let end = from
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line.trim() === '') continue
    if (line.slice(0, indent).trim() !== '') break
    end = at + 1
  }
  return end
}

/** Returns the first line of an alert. A type that is no callout is a note with the type as its title. */
function alertOf(type: string, title: string | undefined): string {
  if (calloutOf(type) !== undefined) return `[!${type.toUpperCase()}] ${title ?? ''}`.trimEnd()
  const name = type.charAt(0).toUpperCase() + type.slice(1).replaceAll('-', ' ')
  return `[!NOTE] ${title === undefined || title === '' ? name : title}`
}
