import { parse as parseToml, TomlError } from 'smol-toml'
import { LineCounter, parseDocument } from 'yaml'
import { addressIn, type WrittenAddress } from './address.js'
import { homeIn, type Home } from './home.js'
import { ContentError } from '../page.js'
import { fieldsIn, numberIn, textIn, type Fields } from './values.js'
import { LISTED, visibilityIn, type Visibility } from './visibility.js'

export interface Frontmatter extends WrittenAddress {
  readonly title: string | undefined
  readonly description: string | null
  readonly tags: readonly string[]
  readonly order: number | undefined
  /** The name in lists of pages, if it differs from the title. */
  readonly label: string | undefined
  readonly visibility: Visibility
  /** The language, as a BCP 47 tag. */
  readonly lang: string | undefined
  readonly home: Home | undefined
}

export interface Split {
  readonly frontmatter: Frontmatter
  /** All fields, for expressions that name them. */
  readonly fields: Fields
  /** The rest of the text, with empty lines in place of the frontmatter, so that line numbers do not change. */
  readonly body: string
}

const NONE: Frontmatter = {
  title: undefined,
  description: null,
  tags: [],
  order: undefined,
  label: undefined,
  visibility: LISTED,
  lang: undefined,
  home: undefined,
  ...addressIn({}),
}
const FENCED = /^(---|\+\+\+)[ \t]*\n((?:[\s\S]*?\n)?)\1[ \t]*(?:\n|$)/
/** A first line of dashes with a key below it, which is frontmatter; dashes alone may be a thematic break. */
const OPENED = /^(?:(---)[ \t]*\n[ \t]*[\w-]+[ \t]*:|(\+\+\+)[ \t]*\n[ \t]*[\w-]+[ \t]*=)/

/**
 * Separates the frontmatter at the start of a file from the rest: YAML between lines `---`, or TOML between lines `+++`, as of Hugo.
 * @throws ContentError if it cannot be parsed, is not closed, or has a field of the wrong type.
 */
export function splitFrontmatter(text: string): Split {
  const match = FENCED.exec(text)
  if (match === null) {
    const [, dashes, pluses] = OPENED.exec(text) ?? []
    const fence = dashes ?? pluses
    if (fence !== undefined)
      throw new ContentError(1, `the frontmatter is not closed: a line ${fence} is missing`)
    return { frontmatter: NONE, fields: {}, body: text }
  }
  const [whole, fence, source = ''] = match
  const blank = '\n'.repeat(whole.split('\n').length - 1)
  const fields = fence === '---' ? yamlFields(source) : tomlFields(source)
  return { frontmatter: frontmatterOf(fields, source), fields, body: blank + text.slice(whole.length) }
}

/** @throws ContentError. The opening fence adds one line to all line numbers. */
function yamlFields(yaml: string): Fields {
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false })
  // An error at the end is reported on the last line with text.
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
  if (value === null || value === undefined) return {}
  const fields = fieldsIn(value)
  if (fields === undefined) throw new ContentError(2, 'frontmatter: must be a mapping of fields to values')
  return fields
}

/** @throws ContentError. */
function tomlFields(toml: string): Fields {
  try {
    return parseToml(toml)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    throw new ContentError(error.line + 1, `frontmatter: ${reason}`)
  }
}

function frontmatterOf(fields: Fields, source: string): Frontmatter {
  const lineOfField = (name: string): number => {
    const at = source.split('\n').findIndex((line) => line.trimStart().replace(/^["']/, '').startsWith(name))
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
  const home = homeIn(fields)
  const sidebar = fieldsIn(fields['sidebar'])
  return {
    title: take('title', asText, 'a string') ?? home?.title,
    description: take('description', asText, 'a string') ?? null,
    tags: take('tags', asTags, 'a string or an array of strings') ?? [],
    // Ours, then Docusaurus, Starlight, Hugo, Just the Docs.
    order:
      take('order', (value) => (Number.isFinite(value) ? Number(value) : undefined), 'a number') ??
      numberIn(fields, 'sidebar_position') ??
      numberIn(sidebar, 'order') ??
      numberIn(fields, 'weight') ??
      numberIn(fields, 'nav_order'),
    // Docusaurus, Starlight, Nextra and Mintlify, Hugo.
    label:
      textIn(fields, 'sidebar_label') ??
      textIn(sidebar, 'label') ??
      textIn(fields, 'sidebarTitle') ??
      textIn(fields, 'linkTitle'),
    visibility: visibilityIn(fields),
    lang: textIn(fields, 'lang'),
    home,
    ...addressIn(fields),
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
