import type { RootContent } from 'mdast'
import { literalOf, Markup, type Jsx, type Literal, type Scalar } from './expressions/literals.js'
import { isScalar } from './values.js'

/** Properties of the design and of the behaviour, which no reader sees. */
const DESIGN =
  /^(?:class\w*|style\w*|sx|css|id|key|ref|slot|icon\w*|image|img|src\w*|logo|color|colour|bg|background|theme|variant|size|width|height|target|rel|as|align|justify|gap|cols|lang|language|group\w*|queryString|storageKey|persist|defaultValue|defaultIndex|defaultOpen|viewBox|fill|stroke\w*|d|xmlns|loading|on[A-Z].*|aria-.*|data-.*|v-.*|[@#].*)$/
const URLS = ['href', 'to', 'link', 'url']
/** Properties that hold the visible name of a component, in order of preference. */
const NAMES = ['title', 'label', 'name', 'heading', 'header', 'summary', 'question', 'term', 'value']
/** Properties that hold a text, shown below the name. */
const TEXTS =
  /^(?:description|desc|subtitle|caption|summary|answer|content|body|message|tip|hint|note|footer|quote|author|alt|children|value)$/
const CODE = /^(?:code|command|cmd|packages?|text)$/

/** The properties of a component that a reader would see. */
export interface Attributes {
  /** All literal values. */
  readonly all: ReadonlyMap<string, Literal>
  readonly name: Scalar | undefined
  readonly url: string | undefined
}

/** Returns the properties of a component. @param leftOut called for each value that would have to be evaluated. */
export function attributesOf(node: Jsx, leftOut: () => void): Attributes {
  const all = new Map<string, Literal>()
  for (const each of node.attributes) {
    if (each.type !== 'mdxJsxAttribute') {
      leftOut()
      continue
    }
    const { name, value } = each
    if (typeof value === 'string') {
      if (value.trim() !== '') all.set(name, value)
    } else if (value === null || value === undefined) all.set(name, true)
    else {
      const literal = literalOf(value.data?.estree, DESIGN.test(name) ? () => undefined : leftOut)
      if (literal !== undefined && literal !== '') all.set(name, literal)
    }
  }
  return { all, name: nameIn(all)?.[1], url: textOf(all, URLS) }
}

/** Returns the first of some properties that is a text; undefined if there is none. */
export function textOf(all: ReadonlyMap<string, Literal>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = all.get(name)
    if (typeof value === 'string' && value.trim() !== '') return value
    if (typeof value === 'number') return String(value)
  }
  return undefined
}

function nameIn(all: ReadonlyMap<string, Literal>): readonly [string, Scalar] | undefined {
  for (const name of NAMES) {
    const value = all.get(name)
    if (typeof value === 'string' || typeof value === 'number' || value instanceof Markup)
      return [name, value]
  }
  return undefined
}

/** The other properties of a component. */
export interface Rest {
  /** Texts, each with the property's name if that says what it is. */
  readonly texts: readonly { readonly name: string | undefined; readonly value: Scalar }[]
  readonly code: readonly string[]
  /** Tables, lists and other values with parts. */
  readonly values: readonly Literal[]
}

/**
 * Returns the properties of a component apart from its name and URL.
 * @param shownNames names of properties that are shown in another way.
 * @param isAlone whether the component has no children, so that all its texts are for readers.
 */
export function restOf({ all }: Attributes, shownNames: RegExp, isAlone: boolean): Rest {
  const name = nameIn(all)?.[0]
  const texts: { name: string | undefined; value: Scalar }[] = []
  const code: string[] = []
  const values: Literal[] = []
  for (const [key, value] of all) {
    if (key === name || (shownNames.test(key) && (isScalar(value) || key === 'items'))) continue
    if (CODE.test(key)) {
      const lines = (Array.isArray(value) ? (value as readonly Literal[]) : [value]).filter(isText)
      if (lines.length > 0) code.push(lines.join(/^packages?$/.test(key) ? ' ' : '\n'))
    } else if (!isScalar(value)) {
      if (!/^(?:class\w*|style\w*|sx|css|on[A-Z].*)$/.test(key)) values.push(value)
    } else if (value instanceof Markup || (TEXTS.test(key) && isText(value)))
      texts.push({ name: undefined, value })
    else if (
      !DESIGN.test(key) &&
      !URLS.includes(key) &&
      typeof value === 'string' &&
      (isAlone || /\s/.test(value))
    )
      texts.push({ name: key, value })
  }
  return { texts, code, values }
}

const isText = (value: Literal): value is string | number =>
  typeof value === 'string' || typeof value === 'number'

/** Returns whether a node is JSX. */
export const isJsx = (node: RootContent): node is Extract<RootContent, Jsx> =>
  node.type === 'mdxJsxFlowElement' || node.type === 'mdxJsxTextElement'
