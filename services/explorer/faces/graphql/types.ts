import { KindGuard, OptionalKind, type TObject, type TSchema } from '@sinclair/typebox'
import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  GraphQLFloat,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  GraphQLString,
} from 'graphql'
import { literals, rangeOf } from '../../core/reads/arguments.js'
import { describedFields, nameOf, notNull, type ShapeName } from '../../core/reads/shape-names.js'
import { type Arguments, BadArgument } from '../../core/reads/read.js'
import type { FieldCost } from './cost.js'
import type { Fields } from './links.js'
import type { Reading } from './reading.js'
import { BigInteger, UnsignedInt } from './scalars.js'

export type FieldConfig = GraphQLFieldConfig<Fields, Reading>

type NullableInput = GraphQLScalarType | GraphQLEnumType | GraphQLList<GraphQLInputType>
type NullableOutput = GraphQLScalarType | GraphQLEnumType | GraphQLObjectType | GraphQLList<GraphQLOutputType>

/** The default and the maximum number of items of a list within an object. */
const WITHIN = { limit: 100, most: 1_000 }
/** Lists within objects that never have more items than this take no arguments. */
const FEW = 10

const MAX_INT = 2 ** 31 - 1

/** Converts declared shapes and arguments into types of GraphQL, each once. */
export class Types {
  readonly #objects = new Map<string, GraphQLObjectType>()
  readonly #enums = new Map<string, GraphQLEnumType>()

  /**
   * @param linksOf returns the fields that a shape has besides its own.
   * @param hasDilithium false to leave out what only chains with Dilithium signatures have.
   */
  constructor(
    private readonly linksOf: (shape: ShapeName) => Readonly<Record<string, FieldConfig>>,
    private readonly hasDilithium: boolean,
  ) {}

  /** Returns the type of an answer. @param name its name if it is not a declared shape. */
  object(
    name: string,
    schema: TObject,
    further: () => Readonly<Record<string, FieldConfig>> = () => ({}),
  ): GraphQLObjectType {
    const shape = nameOf(schema)
    const own = shape ?? name
    const cached = this.#objects.get(own)
    if (cached !== undefined) return cached
    const objectType = new GraphQLObjectType({
      name: own,
      ...(schema.description === undefined ? {} : { description: sentence(schema.description) }),
      // A function, because links lead back to types that are being made.
      fields: () => ({
        ...Object.fromEntries(
          describedFields(schema, this.hasDilithium).map(([key, property]) => [
            key,
            this.#field(own, key, property, shape !== undefined),
          ]),
        ),
        ...(shape === undefined ? {} : this.linksOf(shape)),
        ...further(),
      }),
    })
    this.#objects.set(own, objectType)
    return objectType
  }

  /**
   * Returns the arguments of a read.
   * @param path the prefix of the names of enums.
   * @param without the argument that a link sets.
   */
  args(path: string, args: Arguments, without?: string): GraphQLFieldConfigArgumentMap {
    return Object.fromEntries(
      Object.entries(args)
        .filter(([name]) => name !== without)
        .map(([name, schema]) => {
          const type = this.#input(path, name, schema)
          const fallback = (schema as { default?: unknown }).default
          const description = sentence(`${schema.description ?? ''}: ${rangeOf(within32Bits(schema))}`)
          return [
            name,
            {
              description,
              // With a default too: null would be neither counted nor valid.
              type: OptionalKind in schema ? type : new GraphQLNonNull(type),
              ...(fallback === undefined ? {} : { defaultValue: fallback }),
            },
          ] as const
        }),
    )
  }

  #input(path: string, key: string, schema: TSchema): NullableInput {
    if (KindGuard.IsArray(schema))
      return new GraphQLList(new GraphQLNonNull(this.#input(path, key, schema.items)))
    const values = literals(schema)
    if (values !== undefined) return this.#enumeration(path, key, values)
    const { type } = schema as { type?: string }
    if (type === 'integer') return GraphQLInt
    return type === 'boolean' ? GraphQLBoolean : GraphQLString
  }

  /** @param isWithin true for a property of an object, false for one of the answer of a list. */
  #field(path: string, key: string, schema: TSchema, isWithin: boolean): FieldConfig {
    const value = notNull(schema)
    const isNullable = value !== schema || KindGuard.IsNull(schema) || OptionalKind in schema
    const item = KindGuard.IsArray(value) ? value.items : undefined
    const described = schema.description ?? value.description ?? item?.description
    const type = this.#output(path, key, value)
    return {
      type: isNullable ? type : new GraphQLNonNull(type),
      ...(described === undefined ? {} : { description: sentence(described) }),
      ...(item !== undefined && KindGuard.IsObject(item) ? listField(key, value['maxItems'], isWithin) : {}),
    }
  }

  #output(path: string, key: string, schema: TSchema): NullableOutput {
    if (KindGuard.IsArray(schema))
      return new GraphQLList(new GraphQLNonNull(this.#output(path, key, schema.items)))
    if (KindGuard.IsObject(schema)) return this.object(`${path}${pascal(key)}`, schema)
    const values = literals(schema)
    if (values !== undefined) return this.#enumeration(path, key, values)
    const { type, format } = schema as { type?: string; format?: string }
    if (format === 'int64' || format === 'uint64') return BigInteger
    if (format === 'uint32') return UnsignedInt
    if (type === 'integer') return GraphQLInt
    if (type === 'number') return GraphQLFloat
    return type === 'boolean' ? GraphQLBoolean : GraphQLString
  }

  /** Returns an enum whose values are spelled as in REST. */
  #enumeration(path: string, key: string, values: readonly string[]): GraphQLEnumType {
    const name = `${path}${pascal(key)}`
    const cached = this.#enums.get(name)
    if (cached !== undefined) return cached
    const enumType = new GraphQLEnumType({
      name,
      values: Object.fromEntries(values.map((value) => [value, { value }])),
    })
    this.#enums.set(name, enumType)
    return enumType
  }
}

/** Returns the part of the field of a list of objects that depends on where it is. */
function listField(key: string, maxItems: unknown, isWithin: boolean): Partial<FieldConfig> {
  // The arguments of the read limit the items of its answer.
  if (!isWithin) return { extensions: { times: (_, limit) => limit } satisfies FieldCost }
  if (typeof maxItems === 'number' && maxItems <= FEW)
    return { extensions: { times: () => maxItems } satisfies FieldCost }
  const range = `an integer from 1 to ${String(WITHIN.most)}`
  return {
    args: {
      limit: {
        type: new GraphQLNonNull(GraphQLInt),
        defaultValue: WITHIN.limit,
        description: sentence(range),
      },
      offset: { type: new GraphQLNonNull(GraphQLInt), defaultValue: 0, description: 'Items to skip.' },
    },
    extensions: { times: ({ limit }) => Math.max(0, Number(limit)) } satisfies FieldCost,
    resolve: (object, { limit, offset }: { limit: number; offset: number }) => {
      if (limit < 1 || limit > WITHIN.most) throw new BadArgument(`limit must be ${range}`)
      if (offset < 0) throw new BadArgument(`offset must be an integer from 0 to ${String(MAX_INT)}`)
      return (object[key] as unknown[] | undefined)?.slice(offset, offset + limit)
    },
  }
}

/** Returns the schema of an integer with the range that GraphQL allows. */
function within32Bits(schema: TSchema): TSchema {
  const { maximum } = schema as { maximum?: number }
  return maximum !== undefined && maximum > MAX_INT ? { ...schema, maximum: MAX_INT } : schema
}

/** Converts a name: blockTransactions, whale-alerts, prev_vout → BlockTransactions, WhaleAlerts, PrevVout. */
export const pascal = (name: string): string =>
  name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase())

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
