import { OptionalKind, type TArray, Type, type TSchema } from '@sinclair/typebox'
import { dayOfDate } from '../../../../pipelines/chain/time.js'
import { type Arguments, BadArgument } from './read.js'

/** The largest height that all transports represent. */
const MAX_HEIGHT = 2 ** 31 - 1
/** The largest integer that a JavaScript number represents exactly. */
const MOST = Number.MAX_SAFE_INTEGER

/**
 * Declarations of arguments. `description` says what an argument is, for the documentation of all transports; `allowed` names its
 * values in the words of error messages, where the schema alone does not (`rangeOf`).
 */
export const page = Type.Integer({
  minimum: 1,
  maximum: MOST,
  default: 1,
  description: 'number of the page, from 1',
})
export const offset = Type.Integer({ minimum: 0, maximum: MOST, default: 0, description: 'items to skip' })
export const limit = (fallback: number, most: number, description = 'maximum number of items') =>
  Type.Integer({ minimum: 1, maximum: most, default: fallback, description })
export const hash = Type.String({
  pattern: '^[0-9a-fA-F]{64}$',
  description: 'txid of the transaction',
  allowed: '64 hexadecimal characters',
})
export const heightOrHash = Type.String({
  pattern: '^([0-9]{1,10}|[0-9a-fA-F]{64})$',
  description: 'height or hash of the block',
  allowed: 'a block height or a hash of 64 hexadecimal characters',
})
/** The maximum length of what names a script: a URL with it is short enough. Longer scripts are named by their script hash. */
export const MAX_SCRIPT_NAME = 7_000
export const address = Type.String({
  pattern: `^[0-9a-zA-Z]{1,${String(MAX_SCRIPT_NAME)}}$`,
  description:
    'the address; or in hexadecimal a script hash of the Electrum protocol, a public key, whose P2PK script is meant, or a script',
  allowed: 'a well-formed address of this chain, a script hash, a public key or a script',
})
/** The argument of the reads that answer as of any block of the chain. */
export const at = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_HEIGHT,
    description:
      'height of a block of the chain, as of which to answer, without the mempool; by default the newest',
  }),
)
export const witness = Type.Boolean({
  default: false,
  description: 'whether inputs include script_sig and witness',
})
export const date = (description: string) =>
  Type.Optional(Type.String({ format: 'date', description, allowed: 'a calendar date, YYYY-MM-DD' }))
export const amount = (fallback: string, description: string) =>
  Type.String({
    pattern: '^[0-9]{1,19}$',
    default: fallback,
    description,
    allowed: 'an integer number of base units, at most 19 digits',
  })

/** An argument as it was given: its text, or the items of a list; undefined if it was not given. */
export type RawArgument = string | readonly unknown[] | undefined

/**
 * Parses the declared arguments of a request; others are ignored.
 * @throws BadArgument for the first invalid one; the message contains its name and range.
 */
export function parseArguments(
  declared: Arguments,
  raw: (name: string) => RawArgument,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(declared)) {
    const text = raw(name)
    if (text === undefined && isOptional(schema)) continue
    const value = text === undefined ? (schema.default as unknown) : parse(schema, text)
    if (value === undefined) throw badArgument(name, schema)
    values[name] = value
  }
  return values
}

export function badArgument(name: string, schema: TSchema): BadArgument {
  return new BadArgument(`${name} must be ${rangeOf(schema)}`)
}

const isOptional = (schema: TSchema): boolean => OptionalKind in schema

function parse(schema: TSchema, value: string | readonly unknown[]): unknown {
  const declared = schema as Record<string, unknown>
  if (declared['type'] === 'array') return parseList(schema as TArray, value)
  if (typeof value !== 'string') return undefined
  return parseText(schema, declared, value)
}

/** Returns the items of a list; undefined if one of them, or their number, is not valid. */
function parseList({ items, minItems, maxItems }: TArray, value: string | readonly unknown[]): unknown {
  if (typeof value === 'string' || value.length < (minItems ?? 0) || value.length > (maxItems ?? MOST))
    return undefined
  const values = value.map((each) => (typeof each === 'string' ? parse(items, each) : undefined))
  return values.includes(undefined) ? undefined : values
}

function parseText(schema: TSchema, declared: Readonly<Record<string, unknown>>, text: string): unknown {
  if (declared['type'] === 'integer') {
    const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    return value >= Number(declared['minimum']) && value <= Number(declared['maximum']) ? value : undefined
  }
  if (declared['type'] === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined
  const allowed = literals(schema)
  if (allowed !== undefined) return allowed.includes(text) ? text : undefined
  if (declared['format'] === 'date') return dayOfDate(text) === undefined ? undefined : text
  const { minLength = 0, maxLength = MOST, pattern } = declared
  if (text.length < Number(minLength)) return undefined
  // Characters as JSON Schema counts them: an emoji is one, of length 2.
  if (text.length > Number(maxLength) && Array.from(text).length > Number(maxLength)) return undefined
  return typeof pattern === 'string' && !compiled(pattern).test(text) ? undefined : text
}

/** Compiled patterns of the declarations: compiling one costs as much as the rest of an invalid request. */
const patterns = new Map<string, RegExp>()

function compiled(pattern: string): RegExp {
  let regExp = patterns.get(pattern)
  if (regExp === undefined) patterns.set(pattern, (regExp = new RegExp(pattern)))
  return regExp
}

/** Returns the strings that a schema of literals allows; undefined for other schemas. */
export function literals(schema: TSchema): string[] | undefined {
  const { anyOf, const: only } = schema as { anyOf?: { const: string }[]; const?: string }
  return only === undefined ? anyOf?.map((each) => each.const) : [only]
}

/** Returns the allowed values of an argument in words, for error messages and documentation. */
export function rangeOf(schema: TSchema): string {
  const declared = schema as Record<string, unknown>
  if (declared['type'] === 'integer') {
    const { minimum, maximum } = declared
    return `an integer from ${String(minimum)} to ${String(maximum)}`
  }
  if (declared['type'] === 'boolean') return 'true or false'
  const allowed = literals(schema)
  if (allowed !== undefined) return allowed.join(' or ')
  if (typeof declared['allowed'] === 'string') return declared['allowed']
  return `${String(declared['minLength'])} to ${String(declared['maxLength'])} characters`
}
