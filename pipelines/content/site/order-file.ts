import { posix } from 'node:path'
import { parse as parseYaml } from 'yaml'
import { fieldsIn, numberIn, textIn, type Fields } from '../frontmatter/values.js'
import { moduleObject } from '../syntax/expressions/module.js'
import { summaryOf, type Summary } from './summary.js'

/** The order and names of the pages of a folder, by a file. */
export interface FolderOrder {
  /** Path of the folder; empty for the root. */
  readonly folder: string
  /** The name and position of the folder itself. */
  readonly label: string | undefined
  readonly position: number | undefined
  /** The contents of the folder in order, by the name of the file without its ending or of the folder. */
  readonly entries: readonly OrderEntry[]
}

export interface OrderEntry {
  readonly name: string
  readonly label: string | undefined
  readonly isHidden: boolean
}

/** The contents of a file that orders pages. */
export interface Ordering {
  readonly file: string
  readonly folders: readonly FolderOrder[]
  readonly summary?: Summary
}

const ORDER_FILE =
  /(?:^|\/)(?:_category_\.(?:json|ya?ml)|_meta(?:\.global)?\.(?:json|[cm]?[jt]sx?)|meta\.json|SUMMARY\.md)$/

/** Returns whether a file orders pages: `_category_.json`, `_meta.js`, `meta.json` or `SUMMARY.md`. It is no page then. */
export const isOrderFile = (file: string): boolean => ORDER_FILE.test(file)

/**
 * Returns what a file says about the order of pages.
 * @throws an error that says what is wrong with it.
 */
export function orderingOf(file: string, text: string): Ordering {
  const folder = posix.dirname(file) === '.' ? '' : posix.dirname(file)
  const name = posix.basename(file)
  if (name === 'SUMMARY.md') return { file, folders: [], summary: summaryOf(text, folder) }
  const isModule = /\.[cm]?[jt]sx?$/.test(name)
  const value = isModule ? moduleObject(text) : (parseYaml(text, { maxAliasCount: 10 }) as unknown)
  const fields = fieldsIn(value)
  if (fields === undefined) throw new Error('it must be an object')
  if (name.startsWith('_category_')) return { file, folders: [categoryOf(folder, fields)] }
  if (name === 'meta.json') return { file, folders: [listOf(folder, fields)] }
  return {
    file,
    folders: name.startsWith('_meta.global') ? nested(folder, fields) : [metaOf(folder, fields)],
  }
}

/** Docusaurus: the name and position of a folder. */
const categoryOf = (folder: string, fields: Fields): FolderOrder => ({
  folder,
  label: textIn(fields, 'label'),
  position: numberIn(fields, 'position'),
  entries: [],
})

/** Fumadocs: a list of names, of which `...` stands for all others, `!name` hides a page, and others are separators and links. */
function listOf(folder: string, fields: Fields): FolderOrder {
  const pages = Array.isArray(fields['pages']) ? (fields['pages'] as unknown[]) : []
  const entries = pages.flatMap((page): OrderEntry[] => {
    if (typeof page !== 'string' || /^(?:---|\.\.\.$|z\.\.\.a$|\[|external:)/.test(page)) return []
    const name = page.replace(/^(?:!|\.\.\.)/, '').replace(/^\.\//, '')
    return [{ name, label: undefined, isHidden: page.startsWith('!') }]
  })
  return { folder, label: textIn(fields, 'title'), position: undefined, entries }
}

/** Nextra: the names in order, each with its title or with an object. */
const metaOf = (folder: string, fields: Fields): FolderOrder => ({
  folder,
  label: undefined,
  position: undefined,
  entries: Object.entries(fields).map(([name, value]) => ({
    name,
    label: typeof value === 'string' && value.trim() !== '' ? value : textIn(fieldsIn(value), 'title'),
    isHidden: fieldsIn(value)?.['display'] === 'hidden',
  })),
})

/** Nextra's order of all folders in one file. */
function nested(folder: string, fields: Fields): FolderOrder[] {
  const inner = Object.entries(fields).flatMap(([name, value]) => {
    const items = fieldsIn(fieldsIn(value)?.['items'])
    return items === undefined ? [] : nested(posix.join(folder, name), items)
  })
  return [metaOf(folder, fields), ...inner]
}
