import { LineCounter, parseDocument } from 'yaml'
import { ContentError } from './page.js'

export interface Frontmatter {
  readonly title: string | undefined
  readonly description: string | null
  readonly tags: readonly string[]
  readonly order: number | undefined
}

export interface Split {
  readonly frontmatter: Frontmatter
  /** What follows, with empty lines where the frontmatter was: lines keep their numbers. */
  readonly body: string
}

const NONE: Frontmatter = { title: undefined, description: null, tags: [], order: undefined }
const FENCED = /^---[ \t]*\n((?:[\s\S]*?\n)?)---[ \t]*(?:\n|$)/
/** A first line of dashes may be a rule; with a key under it, it is frontmatter. */
const OPENED = /^---[ \t]*\n[ \t]*[\w-]+[ \t]*:/

/**
 * Takes the YAML at the head of a file apart from what follows.
 * @throws ContentError where it is not YAML, not closed, or a field that we read has another type.
 */
export function splitFrontmatter(text: string): Split {
  const match = FENCED.exec(text)
  if (match === null) {
    if (OPENED.test(text)) throw new ContentError(1, 'the frontmatter is not closed: a line --- is missing')
    return { frontmatter: NONE, body: text }
  }
  const [whole, yaml = ''] = match
  const blank = '\n'.repeat(whole.split('\n').length - 1)
  return { frontmatter: parseFrontmatter(yaml), body: blank + text.slice(whole.length) }
}

function parseFrontmatter(yaml: string): Frontmatter {
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false })
  // What is missing is missing on the last line that says something; and one line for the fence.
  const end = yaml.trimEnd().length
  const lineOf = (offset: number): number => lines.linePos(Math.min(offset, end)).line + 1
  const [error] = document.errors
  if (error !== undefined) throw new ContentError(lineOf(error.pos[0]), `frontmatter: ${error.message}`)
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 10 })
  } catch (cause) {
    throw new ContentError(2, `frontmatter: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  if (value === null || value === undefined) return NONE
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ContentError(2, 'frontmatter: must be a mapping of fields to values')
  const fields = value as Record<string, unknown>
  const lineOfField = (name: string): number => {
    const at = yaml.split('\n').findIndex((line) => line.trimStart().replace(/^["']/, '').startsWith(name))
    return at < 0 ? 2 : at + 2
  }
  const take = <T>(name: string, read: (value: unknown) => T | undefined, type: string): T | undefined => {
    const given = fields[name]
    if (given === undefined || given === null) return undefined
    const taken = read(given)
    if (taken === undefined) throw new ContentError(lineOfField(name), `frontmatter: ${name} must be ${type}`)
    return taken
  }
  return {
    title: take('title', asText, 'a text'),
    description: take('description', asText, 'a text') ?? null,
    tags: take('tags', asTags, 'a string or an array of strings') ?? [],
    order: take('order', (given) => (typeof given === 'number' ? given : undefined), 'a number'),
  }
}

/** Numbers, dates and truth values are texts that YAML took for something else. */
function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : oneLine(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return undefined
}

/** Titles and descriptions stand in lists, a line each. */
const oneLine = (value: string): string => value.trim().replace(/\s+/g, ' ')

function asTags(value: unknown): readonly string[] | undefined {
  const given: unknown[] = Array.isArray(value) ? value : [value]
  const tags = given.map(asText)
  return tags.every((tag) => tag !== undefined) ? [...new Set(tags)] : undefined
}
