import { FENCE } from '../conventions.js'
import { calloutOf, kindOf } from '../kinds.js'

/** A line with one tag of GitBook (`{% hint style="info" %}`) or of Hugo (`{{< callout "note" >}}`, `{{% alert %}}`). */
const TAG =
  /^([ \t>]*)(?:\{%-?|\{\{[<%])[ \t]*(\/|end)?([A-Za-z][\w-]*)[ \t]*(.*?)[ \t]*(\/)?(?:-?%\}|[>%]\}\})[ \t]*$/
const ARGUMENT = /(?:([\w-]+)=)?(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|`([^`]*)`|([^\s"'`=]+))/g
/** Tags around others that show nothing themselves. */
const SILENT = /^(?:code|content-ref|columns?|block)$/
const GENERIC = /^(?:hint|notice|callout|admonition|alert|aside)$/
/** The words of colours and styles for callouts. */
const STYLES: Readonly<Record<string, string>> = {
  primary: 'note',
  secondary: 'note',
  default: 'note',
  failure: 'danger',
  working: 'warning',
}
/** A path in a link: `{{< relref "page.md" >}}`. */
const REFERENCE = /\{\{[<%][ \t]*(?:rel)?ref[ \t]+"([^"\n]+)"[ \t]*[>%]\}\}/g

interface Open {
  readonly name: string
  readonly line: number
  /** The largest number of levels inside. */
  height: number
}

/**
 * Rewrites the tags of GitBook and Hugo that open and close a part of a page as containers, and the tags for links as links. The number
 * of lines stays the same. Tags that are not known, or are not closed, stay as they are.
 */
export function rewriteShortcodes(text: string): string {
  if (!/\{%|\{\{[<%]/.test(text)) return text
  const lines = text.split('\n')
  const open: Open[] = []
  let fence: string | undefined
  for (const [index, line] of lines.entries()) {
    const marker = FENCE.exec(line)
    if (fence !== undefined) {
      if (marker?.[1]?.startsWith(fence) === true && marker[2]?.trim() === '') fence = undefined
      continue
    }
    if (marker !== null) fence = marker[1]
    else {
      lines[index] = line.replace(REFERENCE, '$1')
      rewriteTag(lines, index, open)
    }
  }
  return lines.join('\n')
}

function rewriteTag(lines: string[], index: number, open: Open[]): void {
  const match = TAG.exec(lines[index] ?? '')
  if (match === null) return
  const [, prefix = '', closing, name = '', rest = '', selfClosing] = match
  if (closing !== undefined) {
    close(lines, index, open, prefix, name)
    return
  }
  if (name === 'embed') {
    const url = argumentsOf(rest).get('url')
    if (url !== undefined) lines[index] = `${prefix}<${url}>`
    return
  }
  const isKnown = SILENT.test(name) || openingOf(name, rest) !== undefined
  if (isKnown && selfClosing === undefined) open.push({ name, line: index, height: 0 })
}

/** Writes the lines of a container when its end is known: an outer one has more colons than those inside. */
function close(lines: string[], index: number, open: Open[], prefix: string, name: string): void {
  const at = open.findLastIndex((each) => each.name === name)
  const opened = open[at]
  if (opened === undefined) return
  open.splice(at)
  const [, before = '', , , rest = ''] = TAG.exec(lines[opened.line] ?? '') ?? []
  const opening = openingOf(name, rest)
  const colons = ':'.repeat(3 + opened.height)
  lines[opened.line] = opening === undefined ? before.trimEnd() : `${before}${colons}${opening}`
  lines[index] = opening === undefined ? prefix.trimEnd() : `${prefix}${colons}`
  const outer = open.at(-1)
  if (outer !== undefined)
    outer.height = Math.max(outer.height, opened.height + Number(opening !== undefined))
}

/** Returns the name and the label of the container for a tag; undefined if it is not known. */
function openingOf(name: string, rest: string): string | undefined {
  const all = argumentsOf(rest)
  const first = all.get('0')
  const labelled = (kind: string, label: string | undefined): string =>
    label === undefined || label === '' ? kind : `${kind}[${label.replace(/[[\]]/g, '\\$&')}]`
  if (GENERIC.test(name)) {
    const style = all.get('style') ?? all.get('type') ?? all.get('color') ?? first ?? ''
    const word = STYLES[style] ?? style
    return labelled(calloutOf(word) === undefined ? 'note' : word, all.get('title') ?? all.get('1'))
  }
  const title = all.get('title') ?? all.get('name') ?? all.get('header') ?? first
  if (calloutOf(name) !== undefined) return labelled(name, title)
  if (/^(?:expand|expandable|collapse|details)$/.test(name))
    return labelled('details', all.get('summary') ?? title)
  const kind = kindOf(name.charAt(0).toUpperCase() + name.slice(1))
  return kind === 'tabs' || kind === 'steps' || kind === 'cards'
    ? kind
    : kind === 'tab' || kind === 'step'
      ? labelled(kind, title)
      : undefined
}

/** Returns the arguments of a tag by their names, and those without a name by their positions. */
function argumentsOf(rest: string): ReadonlyMap<string, string> {
  const all = new Map<string, string>()
  let position = 0
  for (const [, name, double, single, raw, bare] of rest.matchAll(ARGUMENT)) {
    const value = double?.replace(/\\(.)/g, '$1') ?? single ?? raw ?? bare ?? ''
    all.set(name ?? String(position++), value)
  }
  return all
}
