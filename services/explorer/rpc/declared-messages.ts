import { Kind, OptionalKind, type TSchema } from '@sinclair/typebox'
import * as shapes from '../reads/shapes.js'
import { pascal, type ProtoEnum, type ProtoField, type ProtoMessage, snake } from './proto-model.js'

interface Declared {
  readonly type?: string
  readonly description?: string
  readonly const?: string
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
  readonly properties?: Readonly<Record<string, TSchema>>
}

const declared = (schema: TSchema): Declared => schema

const NAMES = new Map<unknown, string>(
  Object.entries(shapes)
    .filter(([, shape]) => typeof shape === 'object' && Kind in shape)
    .map(([name, shape]) => [shape, name]),
)

/** The name under which shapes.ts exports a shape. */
export const nameOf = (schema: TSchema): string | undefined => NAMES.get(schema)

/** The shapes that messages of the file refer to, each once, in the order in which they are first met. */
export class NamedShapes {
  readonly #messages = new Map<string, ProtoMessage | undefined>()

  get messages(): readonly ProtoMessage[] {
    return [...this.#messages.values()].filter((message) => message !== undefined)
  }

  /** @throws for a shape without a name. */
  refer(schema: TSchema): string {
    const name = nameOf(schema)
    if (name === undefined)
      throw new Error(`export this shape from shapes.ts: ${JSON.stringify(schema).slice(0, 200)}`)
    if (!this.#messages.has(name)) {
      // Its place is before those that it refers to itself.
      this.#messages.set(name, undefined)
      this.#messages.set(name, this.message(name, '', schema))
    }
    return name
  }

  /** The message of an object, with what is anonymous within it nested. */
  message(name: string, doc: string, schema: TSchema): ProtoMessage {
    const nested: Nested = { messages: [], enums: [] }
    const fields = Object.entries(declared(schema).properties ?? {})
      .filter(([, property]) => declared(property).type !== 'null')
      .map(([key, property]) => this.#field(key, property, nested))
    return { name, doc, fields, ...nested }
  }

  #field(key: string, schema: TSchema, nested: Nested): ProtoField {
    const { type, items, description } = declared(valueOf(schema))
    const isOptional = OptionalKind in schema
    const base = { name: snake(key), jsonName: key, doc: declared(schema).description ?? description ?? '' }
    if (type === 'array' && items !== undefined) {
      const doc = base.doc === '' ? (declared(items).description ?? '') : base.doc
      const list = { ...base, doc, label: 'repeated', type: this.#type(key, items, nested) } as const
      if (!isOptional) return list
      // A repeated field cannot be absent; a message around it can.
      const fields = [{ ...list, name: 'items', jsonName: 'items' }]
      nested.messages.push({ name: pascal(key), doc: '', fields, messages: [], enums: [] })
      return { ...list, label: 'optional', type: pascal(key) }
    }
    const label = isOptional || valueOf(schema) !== schema ? 'optional' : ''
    return { ...base, label, type: this.#type(key, schema, nested) }
  }

  #type(key: string, schema: TSchema, nested: Nested): string {
    const value = valueOf(schema)
    const literals = literalsOf(value)
    if (literals !== undefined) {
      nested.enums.push({ name: pascal(key), doc: '', values: literals })
      return pascal(key)
    }
    const { type } = declared(value)
    if (type === 'object') {
      if (nameOf(value) !== undefined) return this.refer(value)
      nested.messages.push(this.message(pascal(key), '', value))
      return pascal(key)
    }
    return scalarOf(type)
  }
}

interface Nested {
  readonly messages: ProtoMessage[]
  readonly enums: ProtoEnum[]
}

/** What a schema may be besides null. */
function valueOf(schema: TSchema): TSchema {
  const others = declared(schema).anyOf?.filter((each) => declared(each).type !== 'null')
  return others?.length === 1 && others[0] !== undefined ? others[0] : schema
}

/** The texts that a schema names; undefined where it is of another kind. */
export function literalsOf(schema: TSchema): string[] | undefined {
  const { anyOf, const: only } = declared(schema)
  if (only !== undefined) return [only]
  return anyOf?.flatMap((each) => declared(each).const ?? [])
}

/** Integers are int64 all: one beyond 2^53 in a request is refused by its range instead of being another. */
export function scalarOf(type: string | undefined): string {
  const scalars: Readonly<Record<string, string>> = {
    integer: 'int64',
    number: 'double',
    string: 'string',
    boolean: 'bool',
  }
  const scalar = scalars[type ?? '']
  if (scalar === undefined) throw new Error(`no Protobuf for the type ${String(type)}`)
  return scalar
}
