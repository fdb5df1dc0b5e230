import { KindGuard, type TObject, type TSchema } from '@sinclair/typebox'
import { OF_DILITHIUM } from './fields.js'
import type { Read } from './read.js'
import * as shapes from './shapes.js'

export type ShapeName = keyof typeof shapes
/** The shapes by name. A schema that is a shape becomes a named type in every description of the API. */
export const SHAPES: Readonly<Record<ShapeName, TObject>> = shapes

const NAMES = new Map<TSchema, ShapeName>(
  Object.entries(SHAPES).map(([name, schema]) => [schema, name as ShapeName]),
)

/** Returns the name of a shape; undefined for other schemas. */
export function nameOf(schema: TSchema): ShapeName | undefined {
  return NAMES.get(schema)
}

/** Returns the schema of a value that may be null, without null; other schemas as they are. */
export function notNull(schema: TSchema): TSchema {
  const others = KindGuard.IsUnion(schema) ? schema.anyOf.filter((each) => !KindGuard.IsNull(each)) : []
  return others.length === 1 ? (others[0] as TSchema) : schema
}

/**
 * Returns the fields of an object that descriptions for a chain name. REST and gRPC answer with all fields on every chain.
 * @param hasDilithium false for a chain without Dilithium signatures.
 */
export function describedFields({ properties }: TObject, hasDilithium: boolean): [string, TSchema][] {
  return Object.entries(properties).filter(([, each]) => hasDilithium || !(OF_DILITHIUM in each))
}

/** Returns the reads that descriptions for a chain name. @param hasDilithium false for a chain without Dilithium signatures. */
export function describedReads(reads: readonly Read[], hasDilithium: boolean): readonly Read[] {
  return reads.filter(({ isOfDilithium = false }) => hasDilithium || !isOfDilithium)
}
