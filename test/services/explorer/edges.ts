import { OptionalKind } from '@sinclair/typebox'
import fc from 'fast-check'
import type { Read } from '../../../services/explorer/core/reads/read.js'
import { type Answer, getAnswer } from '../../harness/pipeline.js'

/** Texts at and beyond the limits of an argument's declaration. */
export interface Edges {
  /** Valid texts: the objects exist or not. */
  readonly inside: readonly string[]
  /** Texts of the right form; the read decides whether they are valid. */
  readonly plausible: readonly string[]
  /** Texts that the declaration refuses. */
  readonly outside: readonly string[]
}

interface Declared {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly default?: unknown
  readonly const?: string
  readonly anyOf?: readonly { readonly const: string }[]
}

const NO_INTEGERS = [
  '',
  ' 1',
  '1.5',
  '1e1',
  '+1',
  '0x1',
  'one',
  '1_0',
  '１',
  'NaN',
  'Infinity',
  '9'.repeat(30),
]
const NO_BOOLEANS = ['', '1', '0', 'TRUE', 'yes', 'null']
const NO_TEXTS = ['', '\0', ' ', '"', "'", '\\', '%', 'ö', '🦀', '\u202e', 'x'.repeat(2_000)]

export function edgesOf(read: Read, name: string, seed = 1): Edges {
  const declared: Declared = read.args[name] ?? {}
  const { type, minimum, maximum, minLength = 0, maxLength = 1e9, pattern, anyOf } = declared
  if (type === 'integer') {
    const least = minimum ?? 0
    const most = maximum ?? Number.MAX_SAFE_INTEGER
    return {
      inside: [least, most].map(String),
      plausible: [],
      outside: [String(least - 1), String(most + 1), ...NO_INTEGERS],
    }
  }
  if (type === 'array') {
    const tooMany = 'x '.repeat((declared.maxItems ?? 0) + 1)
    return { inside: [], plausible: ['x', 'x 7 x', 'ö🦀'], outside: ['', tooMany, `x ${'x'.repeat(2_000)}`] }
  }
  if (type === 'boolean') return { inside: ['true', 'false'], plausible: [], outside: NO_BOOLEANS }
  const values =
    anyOf?.map((each) => each.const) ?? (declared.const === undefined ? undefined : [declared.const])
  if (values !== undefined) {
    return { inside: values, plausible: [], outside: ['', 'x', ...values.map((value) => `${value} `)] }
  }
  if (pattern !== undefined) {
    const form = new RegExp(pattern)
    return {
      inside: [],
      plausible: fc.sample(fc.stringMatching(form), { numRuns: 10, seed }),
      outside: NO_TEXTS.filter((text) => !form.test(text) || text.length > maxLength),
    }
  }
  return {
    inside: [],
    plausible: ['x'.repeat(Math.max(1, minLength)), 'x'.repeat(Math.min(maxLength, 1_000)), '7', 'ö🦀'],
    outside: [...(minLength > 0 ? [''] : []), ...(maxLength < 1e6 ? ['x'.repeat(maxLength + 1)] : [])],
  }
}

/** Returns whether the arguments are in the URL; otherwise they are in the body. */
export const isInUrl = (read: Read): boolean => read.method !== 'POST'

/** Returns whether the path contains the argument, which then cannot be empty: that is another route. */
export const isInPath = (read: Read, name: string): boolean => read.path.split('/').includes(`:${name}`)

/** Returns whether the argument is required. */
export function isRequired(read: Read, name: string): boolean {
  const { default: fallback } = (read.args[name] ?? {}) as Declared
  return isInPath(read, name) || (fallback === undefined && !(OptionalKind in (read.args[name] ?? {})))
}

/** Returns a path under /api/v1 with these arguments, each encoded with `encode`. */
export function pathOf(
  read: Read,
  values: Readonly<Record<string, string>>,
  encode: (text: string) => string = encodeURIComponent,
): string {
  const path = read.path
    .split('/')
    .map((part) => (part.startsWith(':') ? encode(values[part.slice(1)] ?? '') : part))
    .join('/')
  const query = Object.entries(values)
    .filter(([name]) => !isInPath(read, name))
    .map(([name, value]) => `${name}=${encode(value)}`)
  return `/api/v1${path}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/** Returns the arguments of a read from texts: lists, whose items are separated by spaces, and the texts of others. */
export function valuesOf(read: Read, texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const isList = (name: string): boolean => (read.args[name] as Declared | undefined)?.type === 'array'
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, isList(name) ? itemsIn(text) : text]),
  )
}

/** Returns the items of a list as a text. */
export const itemsIn = (text: string): string[] => text.split(' ').filter((item) => item !== '')

/** Requests a read by REST. @param texts its arguments, as `valuesOf` takes them. */
export function requestRead(
  url: string,
  read: Read,
  texts: Readonly<Record<string, string>>,
): Promise<Answer> {
  if (isInUrl(read)) return getAnswer(url + pathOf(read, texts))
  return getAnswer(
    url + pathOf(read, {}),
    { 'content-type': 'application/json' },
    JSON.stringify(valuesOf(read, texts)),
  )
}
