import { KindGuard, type TObject, type TSchema } from '@sinclair/typebox'
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
