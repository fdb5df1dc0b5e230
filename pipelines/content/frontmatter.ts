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
  /** The rest of the text, with empty lines in place of the frontmatter, so that line numbers do not change. */
  readonly body: string
}

const NONE: Frontmatter = { title: undefined, description: null, tags: [], order: undefined }
const FENCED = /^---[ \t]*\n((?:[\s\S]*?\n)?)---[ \t]*(?:\n|$)/
/** A first line of dashes with a key below it, which is frontmatter; dashes alone may be a thematic break. */
const OPENED = /^---[ \t]*\n[ \t]*[\w-]+[ \t]*:/

/**
 * Separates the YAML frontmatter at the start of a file from the rest.
 * @throws ContentError if it is not YAML, is not closed, or has a field of the wrong type.
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
  // An error at the end is reported on the last line with text. The opening fence adds one line.
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
    const raw = fields[name]
    if (raw === undefined || raw === null) return undefined
    const result = read(raw)
    if (result === undefined)
      throw new ContentError(lineOfField(name), `frontmatter: ${name} must be ${type}`)
    return result
  }
  return {
    title: take('title', asText, 'a string'),
    description: take('description', asText, 'a string') ?? null,
    tags: take('tags', asTags, 'a string or an array of strings') ?? [],
    order: take('order', (value) => (Number.isFinite(value) ? Number(value) : undefined), 'a number'),
  }
}

/** Returns a value as one line of text, or undefined. YAML parses some texts as numbers or booleans. */
function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : oneLine(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return undefined
}

/** Joins the lines of a text: lists of pages show each title and description on one line. */
const oneLine = (value: string): string => value.trim().replace(/\s+/g, ' ')

function asTags(value: unknown): readonly string[] | undefined {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  const tags = values.map(asText)
  return tags.every((tag) => tag !== undefined) ? [...new Set(tags)] : undefined
}
