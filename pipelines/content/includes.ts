import { posix } from 'node:path'

/** A request to include a file, or a part of one. */
export interface Include {
  /** As it is written. */
  readonly target: string
  /** Name of a `#region`, of an mdBook anchor, or the id of a heading. */
  readonly region?: string | undefined
  /** First and last line, from 1. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** If the file is shown as code. */
  readonly code?: { readonly lang?: string | undefined; readonly meta: string } | undefined
}

/** The ways in which a file names others, each with its path as the first group. */
const NAMED_REGIONS = [
  /^[ \t>]*<<<[ \t]*([^\s#{[]+)/gm,
  /<!--\s*@include:\s*([^\s#{]+)/g,
  /<include\b[^>]*>\s*([^\s<#]+)[^<]*<\/include>/g,
  /\{\{#(?:rustdoc_)?include\s+([^\s:}]+)/g,
  /\bimport\s+\w+\s+from\s*['"]([^'"\n]+\.mdx?)['"]/g,
] as const
/** Mintlify's way, relative to its own folder. */
const SNIPPET_FILE = /<Snippet\s+file=["']([^"'\n]+)["']/g

/**
 * Returns the paths of all files that a file may include, relative to the content folder and without files outside of it. It may
 * return more than the file includes, for example from code blocks.
 */
export function includePaths(text: string, file: string): string[] {
  const targets = NAMED_REGIONS.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, target = '']) => target),
  )
  const snippets = [...text.matchAll(SNIPPET_FILE)].map(([, name = '']) => snippetPath(name))
  const paths = [...targets, ...snippets].flatMap((target) => [includePath(target, file), sitePath(target)])
  return [...new Set(paths)].filter((path) => path !== undefined)
}

/** Returns the path of a file that a `<Snippet file>` names. */
export const snippetPath = (name: string): string => `/snippets/${name}`

/**
 * Returns the path of a file that Docusaurus names from the folder of the site, `@site/docs/x.mdx`, if the content is that site's folder
 * `docs`; undefined for other paths.
 */
export const sitePath = (target: string): string | undefined => {
  const inFolder = /^@site\/[^/]+\/(.+)$/.exec(target)?.[1]
  return inFolder === undefined ? undefined : includePath(`/${inFolder}`, '')
}

/** Returns the path of an included file, relative to the content folder; undefined if it is outside. */
export function includePath(target: string, file: string): string | undefined {
  // The content folder is `@/` in VitePress, `@site/` in Docusaurus, and a leading slash in Mintlify.
  const rooted = /^(?:@\/|@site\/|\/)(.*)$/.exec(target)?.[1]
  const path = rooted === undefined ? posix.join(posix.dirname(file), target) : posix.normalize(rooted)
  return path.startsWith('../') || path === '..' || path.startsWith('/') ? undefined : path
}

const SNIPPET = /^([^\s#{[]+)(?:#([\w-]+))?\s*(?:\{([\d,\s-]*)([^}]*)\})?\s*(?:\[(.+)\])?$/
const EXTENSION = /\.(\w+)$/

/** Parses the part after `<<<` of VitePress: `file.ts#region{1,3-5 ts:line-numbers} [title]`. */
export function parseSnippet(text: string): Include | undefined {
  const [, target, region, lines = '', lang = '', title] = SNIPPET.exec(text.trim()) ?? []
  if (target === undefined) return undefined
  const marked = lines.replace(/\s/g, '')
  const meta = [
    `title="${(title ?? posix.basename(target)).replaceAll('"', "'")}"`,
    ...(marked === '' ? [] : [`{${marked}}`]),
  ]
  const language = lang.replace(/:.*$/, '').trim()
  return {
    target,
    region,
    code: { lang: language === '' ? EXTENSION.exec(target)?.[1] : language, meta: meta.join(' ') },
  }
}

/** Parses the path of VitePress' `@include: file.md#region{3,10}` and of Fumadocs' `<include>file.mdx#heading</include>`. */
export function parseInclude(text: string): Include {
  const [, target = '', region, from, comma, to] =
    /^([^#{\s]+)(?:#([^\s{]+))?\s*(?:\{(\d*)(,?)(\d*)\})?/.exec(text.trim()) ?? []
  const first = number(from)
  return { target, region, from: first, to: comma === '' ? first : number(to) }
}

/** Parses the path of mdBook's `{{#include file.rs:anchor}}` and `{{#include file.rs:2:10}}`. */
export function parseMdBook(text: string): Include {
  const [target = '', second = '', third] = text.trim().split(':')
  if (second !== '' && !/^\d+$/.test(second)) return { target, region: second }
  return { target, from: number(second), to: third === undefined ? number(second) : number(third) }
}

const number = (digits: string | undefined): number | undefined =>
  digits === undefined || digits === '' ? undefined : Number(digits)

/** The markers of regions in the comments of any language, and mdBook's anchors. */
const REGION = /#[ \t]*(?:pragma[ \t]+)?(end[ \t]*)?region\b[ \t]*([\w-]+)?/i
const ANCHOR = /\bANCHOR(_END)?:[ \t]*([\w-]+)/

/** Returns the lines of a text that an include selects; undefined if it has no such region. Markers are left out. */
export function selectLines(text: string, { region, from, to }: Include): string | undefined {
  const lines = text.split('\n')
  if (region === undefined) return lines.slice((from ?? 1) - 1, to).join('\n')
  const markerOf = (line: string): RegExpExecArray | null => REGION.exec(line) ?? ANCHOR.exec(line)
  const first = lines.findIndex((line) => {
    const marker = markerOf(line)
    return marker !== null && marker[1] === undefined && marker[2] === region
  })
  if (first < 0) return undefined
  const rest = lines.slice(first + 1)
  const end = rest.findIndex((line) => {
    const marker = markerOf(line)
    return marker?.[1] !== undefined && marker[2] === region
  })
  return dedented(rest.slice(0, end < 0 ? undefined : end).filter((line) => markerOf(line) === null))
}

function dedented(lines: readonly string[]): string {
  const indents = lines
    .filter((line) => line.trim() !== '')
    .map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0)
  const least = indents.reduce((one, other) => Math.min(one, other), Infinity)
  return lines.map((line) => line.slice(least === Infinity ? 0 : least)).join('\n')
}
