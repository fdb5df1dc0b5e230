import type { BlockContent, ListItem, PhrasingContent, RootContent, TableCell, TableRow } from 'mdast'
import { Markup, type Literal, type Scalar } from './expressions/literals.js'

/** Nested values beyond this depth are shown as code: no component shows them, and lists of any depth take memory of its square. */
const MAX_DEPTH = 12
/** More columns do not fit on a page; the values are then a list. */
const MAX_COLUMNS = 6
const TITLES = ['title', 'name', 'label', 'term', 'question', 'heading', 'header', 'key', 'id', 'type']
const TEXTS = ['description', 'desc', 'answer', 'summary', 'text', 'content', 'body', 'message', 'details']
const URLS = ['href', 'link', 'url', 'to']
/** Fields that are code wherever they occur. */
const CODE = /^(?:type|default|defaultValue|code|command|signature|syntax|cmd)$/
/** Fields that hold the parts of a thing, and whose names no component shows. */
const PARTS =
  /^(?:properties|parameters|children|items|fields|members|values|entries|content|rows|data|options|args)$/
/** Fields of the design. */
const DESIGN = /^(?:class|className|style|icon|image|img|src|logo|ref|on[A-Z].*|aria-.*|data-.*)$/

type Fields = ReadonlyMap<string, Literal>

/** Returns inline nodes for JSX that is part of a value. */
export type ShowMarkup = (nodes: readonly RootContent[]) => PhrasingContent[]

/** Shows the values of properties, which components would show in a way of their own, as tables and lists. */
export class Values {
  readonly #markup: ShowMarkup

  constructor(markup: ShowMarkup) {
    this.#markup = markup
  }

  /** Returns the blocks of a value. */
  blocks(value: Literal, depth = 0): RootContent[] {
    if (isScalar(value)) return this.#paragraphs(value)
    if (depth > MAX_DEPTH) return [{ type: 'code', lang: 'json', value: JSON.stringify(plainOf(value)) }]
    const items = itemsOf(value)
    if (items.length === 0) return []
    const records = items.filter(isRecord)
    if (records.length === items.length) {
      const cards = this.#cards(records)
      if (cards !== undefined) return [cards]
      const table = this.#table(records)
      if (table !== undefined) return [table]
    }
    const children = items.map((item): ListItem => this.#item(item, depth + 1))
    return [{ type: 'list', ordered: false, spread: false, children }]
  }

  /** Returns the inline nodes of a scalar. Text in backticks becomes code, as nearly all components show it. */
  inline(value: Scalar): PhrasingContent[] {
    if (value instanceof Markup) return this.#markup(value.nodes)
    if (value === null) return []
    return String(value)
      .split(/(`[^`\n]+`)/)
      .flatMap((part): PhrasingContent[] => {
        if (part === '') return []
        return /^`[^`]+`$/.test(part)
          ? [{ type: 'inlineCode', value: part.slice(1, -1) }]
          : [{ type: 'text', value: part.replace(/\s*\n\s*/g, ' ') }]
      })
  }

  #paragraphs(value: Scalar): RootContent[] {
    const parts = typeof value === 'string' ? value.split(/\n[ \t]*\n/) : [value]
    return parts.flatMap((part): RootContent[] => {
      const children = this.inline(typeof part === 'string' ? part.trim() : part)
      return children.length === 0 ? [] : [{ type: 'paragraph', children }]
    })
  }

  /** Returns cards for records with a title and a link. */
  #cards(records: readonly Fields[]): RootContent | undefined {
    const children = records.map((fields): RootContent | undefined => {
      const visible = shownFields(fields)
      const title = scalarOf(visible, TITLES)
      const url = scalarOf(visible, URLS)
      if (title === undefined || typeof url?.[1] !== 'string') return undefined
      const rest = visible.filter(([name]) => name !== title[0] && name !== url[0])
      const label: PhrasingContent[] = [{ type: 'link', url: url[1], children: this.inline(title[1]) }]
      return {
        type: 'container',
        kind: 'card',
        label,
        children: rest.flatMap(([, value]) => this.blocks(value)),
      }
    })
    return children.every((child) => child !== undefined)
      ? { type: 'container', kind: 'cards', label: [], children }
      : undefined
  }

  /** Returns a table of records without nested values; undefined if they do not fit into one. */
  #table(records: readonly Fields[]): RootContent | undefined {
    const rows = records.map(shownFields)
    const columns = [...new Set(rows.flatMap((fields) => fields.map(([name]) => name)))]
    const isFlat = rows.every((fields) => fields.every(([, value]) => isCell(value)))
    if (!isFlat || columns.length === 0 || columns.length > MAX_COLUMNS) return undefined
    if (columns.length === 1 && records.length > 0) return undefined
    const head = columns.map((name): TableCell => ({
      type: 'tableCell',
      children: [{ type: 'text', value: name }],
    }))
    const body = rows.map((fields): TableRow => {
      const byName = new Map(fields)
      return {
        type: 'tableRow',
        children: columns.map((name) => ({
          type: 'tableCell',
          children: this.#cell(name, byName.get(name)),
        })),
      }
    })
    return { type: 'table', children: [{ type: 'tableRow', children: head }, ...body] }
  }

  #cell(name: string, value: Literal | undefined): PhrasingContent[] {
    if (value === undefined || value === '') return []
    if (isScalar(value)) return this.#named(name, value)
    return itemsOf(value).flatMap((item, index) => {
      const before: PhrasingContent[] = index === 0 ? [] : [{ type: 'text', value: ', ' }]
      return isScalar(item) ? [...before, ...this.#named(name, item)] : before
    })
  }

  /** Returns a field's value, as code if that is what the field holds. */
  #named(name: string, value: Scalar): PhrasingContent[] {
    if (CODE.test(name) && isText(value) && !String(value).includes('`'))
      return [{ type: 'inlineCode', value: String(value).replace(/\s*\n\s*/g, ' ') }]
    return this.inline(value)
  }

  #item(item: Literal, depth: number): ListItem {
    const children = isRecord(item) ? this.#record(item, depth) : this.blocks(item, depth)
    return { type: 'listItem', spread: false, children: children as BlockContent[] }
  }

  /** Returns the title, type and text of a record on one line, then its other fields, then its parts as lists. */
  #record(record: Fields, depth: number): RootContent[] {
    const fields = shownFields(record)
    const title = scalarOf(fields, TITLES)
    const text = scalarOf(fields, TEXTS)
    const url = scalarOf(fields, URLS)
    const used = [title, text, url].map((entry) => entry?.[0])
    const others = fields.filter(([name, value]) => !used.includes(name) && isScalar(value))
    const code = others.find(([name]) => CODE.test(name))
    const line: PhrasingContent[] = []
    const add = (between: string, nodes: PhrasingContent[]): void => {
      if (line.length > 0 && nodes.length > 0) line.push({ type: 'text', value: between })
      line.push(...nodes)
    }
    if (title !== undefined) {
      const children = this.#named(...title)
      const isLink = typeof url?.[1] === 'string'
      add('', [isLink ? { type: 'link', url: url[1], children } : { type: 'strong', children }])
    }
    if (code !== undefined) add(' ', this.#named(code[0], code[1] as Scalar))
    if (text !== undefined) add(': ', this.inline(text[1]))
    for (const [name, value] of others)
      if (name !== code?.[0])
        add('; ', [{ type: 'text', value: `${name}: ` }, ...this.#named(name, value as Scalar)])
    const parts = fields.filter(([, value]) => !isScalar(value))
    return [
      ...(line.length === 0 ? [] : [{ type: 'paragraph', children: line } as const]),
      ...parts.flatMap(([name, value]): RootContent[] => {
        const blocks = this.blocks(value, depth)
        if (blocks.length === 0 || PARTS.test(name)) return blocks
        return [{ type: 'paragraph', children: [{ type: 'text', value: `${name}:` }] }, ...blocks]
      }),
    ]
  }
}

const isText = (value: Scalar): value is string | number | boolean =>
  value !== null && !(value instanceof Markup)

export const isScalar = (value: Literal): value is Scalar =>
  value === null || typeof value !== 'object' || value instanceof Markup

const isRecord = (value: Literal): value is Fields => value instanceof Map

const isCell = (value: Literal): boolean =>
  isScalar(value)
    ? !(typeof value === 'string' && value.includes('\n\n'))
    : Array.isArray(value) && value.every((item) => isScalar(item as Literal))

type Field = readonly [string, Literal]

const shownFields = (record: Fields): readonly Field[] =>
  [...record].filter(([name, value]) => !DESIGN.test(name) && value !== null && value !== '')

const scalarOf = (
  fields: readonly Field[],
  names: readonly string[],
): readonly [string, Scalar] | undefined => {
  for (const name of names)
    for (const entry of fields) if (entry[0] === name && isScalar(entry[1])) return [name, entry[1]]
  return undefined
}

/** Returns the elements of a value. Those of an object, as of `TypeTable`, are records with their keys as names. */
function itemsOf(value: Literal): readonly Literal[] {
  if (!isRecord(value)) return value as readonly Literal[]
  return [...value].map(([name, each]): Fields => {
    if (isRecord(each)) return new Map<string, Literal>([[each.has('name') ? 'key' : 'name', name], ...each])
    return new Map<string, Literal>([
      ['name', name],
      [isScalar(each) ? 'text' : 'items', each],
    ])
  })
}

function plainOf(value: Literal): unknown {
  if (value instanceof Markup) return undefined
  if (isRecord(value)) return Object.fromEntries([...value].map(([name, each]) => [name, plainOf(each)]))
  return Array.isArray(value) ? value.map((each) => plainOf(each as Literal)) : value
}
