import { textIn, type Fields } from './values.js'

/** The address that the author of a page has given it. */
export interface WrittenAddress {
  /** A path: from the root if it begins with a slash, otherwise as the tool of the site understands it. */
  readonly slug: string | undefined
  /** The last segment, as of Docusaurus. */
  readonly id: string | undefined
  /** Earlier addresses, which lead to the page: paths from the root, or relative to the page's folder. */
  readonly aliases: readonly string[]
}

/** Returns the address in a frontmatter. Addresses with placeholders or of other hosts are left out. */
export function addressIn(fields: Fields): WrittenAddress {
  const permalink = textIn(fields, 'permalink')
  const rooted = permalink === undefined || permalink.startsWith('/') ? permalink : `/${permalink}`
  const id = textIn(fields, 'id')
  const slug = [rooted, textIn(fields, 'slug')].find((path) => path !== undefined && isPath(path))
  return {
    slug,
    id: id !== undefined && /^[\w.-]+$/.test(id) ? id : undefined,
    aliases: ['aliases', 'redirect_from'].flatMap((name) => textsOf(fields[name])).filter(isPath),
  }
}

const isPath = (text: string): boolean => !/[:?#\\]|^\/\/|\s/.test(text)

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value]).filter((each) => typeof each === 'string')
