import { KindGuard, type TSchema } from '@sinclair/typebox'
import { literals } from '../../../core/reads/arguments.js'
import { describedFields, nameOf, type ShapeName } from '../../../core/reads/shape-names.js'

export type Json = Readonly<Record<string, unknown>>

/** Converts declared schemas to JSON Schema. Collects the named shapes, to which others refer. */
export class Components {
  readonly #schemas = new Map<ShapeName, Json>()

  /** @param hasDilithium false to leave out what only chains with Dilithium signatures have. */
  constructor(private readonly hasDilithium = true) {}

  /** The named shapes by name, in the order in which they were first referred to. */
  get schemas(): Json {
    return Object.fromEntries(this.#schemas)
  }

  /** Returns the JSON Schema of a declared schema; a reference for a named shape. */
  of(schema: TSchema): Json {
    const name = nameOf(schema)
    if (name === undefined) return this.#inline(schema)
    if (!this.#schemas.has(name)) {
      // Added first, so that it precedes the shapes that it refers to.
      this.#schemas.set(name, {})
      this.#schemas.set(name, this.#inline(schema))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  #inline(schema: TSchema): Json {
    // `allowed` is part of the description, and symbols are not part of JSON.
    const { allowed: _allowed, ...declared } = schema as Record<string, unknown>
    if (KindGuard.IsObject(schema)) {
      const fields = describedFields(schema, this.hasDilithium)
      const names = new Set(fields.map(([key]) => key))
      const { required } = declared as { required?: readonly string[] }
      return {
        ...declared,
        ...(required === undefined ? {} : { required: required.filter((key) => names.has(key)) }),
        properties: Object.fromEntries(fields.map(([key, each]): [string, Json] => [key, this.of(each)])),
      }
    }
    if (KindGuard.IsArray(schema)) return { ...declared, items: this.of(schema.items) }
    if (!KindGuard.IsUnion(schema)) return declared
    const { anyOf, ...others } = declared
    const values = schema.anyOf.every((each) => KindGuard.IsLiteral(each)) ? literals(schema) : undefined
    if (values !== undefined) return { type: 'string', enum: values, ...others }
    return { anyOf: (anyOf as TSchema[]).map((each) => this.of(each)), ...others }
  }
}
