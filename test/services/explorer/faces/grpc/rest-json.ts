import type { DescMethod, Message } from '@bufbuild/protobuf'
import { toJson } from '@bufbuild/protobuf'
import { OptionalKind, type TSchema } from '@sinclair/typebox'
import type { Read } from '../../../../../services/explorer/core/reads/read.js'

/* eslint-disable @typescript-eslint/no-explicit-any -- JSON whose types the schema defines */

/** Returns the JSON of REST, computed from Protobuf's own JSON of a response and the declared shape. */
export function restJson(read: Read, { output }: DescMethod, response: Message): unknown {
  const json = toJson(output, response, { alwaysEmitImplicit: true }) as Record<string, any>
  const [only] = Object.values(json)
  const isWrapped =
    Object.keys(json).length === 1 &&
    !Object.keys(read.answer['properties'] ?? {}).includes(Object.keys(json)[0]!)
  return inRest(read.answer, isWrapped ? only : json)
}

/** A value of Protobuf's JSON as REST has it. */
export function inRest(schema: TSchema, value: any): unknown {
  if (schema['anyOf']?.some((each: TSchema) => each['type'] === 'null')) {
    const [inner] = schema['anyOf'] as [TSchema]
    const isNull = value === undefined || (schema['presence'] === 'implicit' && value === '')
    return isNull ? null : inRest(inner, value)
  }
  if (schema['const'] !== undefined || schema['anyOf'] !== undefined) return nameIn(schema, value)
  switch (schema['type']) {
    case 'integer':
      expectType(value, 'string')
      return Number(value)
    case 'array':
      // A list that may be absent is within a message, unless its empty list stands for that.
      return (Array.isArray(value) ? value : value.items).map((each: any) => inRest(schema['items'], each))
    case 'object':
      return objectIn(schema, value)
    default:
      expectType(value, schema['type'])
      return value
  }
}

function objectIn(schema: TSchema, value: Record<string, any>): Record<string, unknown> {
  const properties = Object.entries(schema['properties'] as Record<string, TSchema>)
  const strange = Object.keys(value).filter((key) => !properties.some(([name]) => name === key))
  if (strange.length > 0) throw new Error(`not declared: ${strange.join(', ')}`)
  // An input with a witness, even an empty one, always has a script: an absent one is empty.
  const isLeftOut = (name: string): boolean =>
    value[name] === undefined && !(name === 'script_sig' && value['witness'] !== undefined)
  return Object.fromEntries(
    properties
      .filter(([name, each]) => !(OptionalKind in each && isLeftOut(name)))
      .filter(
        ([name, each]) =>
          !(each['presence'] === 'implicit' && OptionalKind in each && value[name].length === 0),
      )
      .map(([name, each]) => [name, each['type'] === 'null' ? null : inRest(each, value[name])]),
  )
}

/** The enum's prefix is dropped: `live` for INDEXER_STATUS_LIVE. */
function nameIn(schema: TSchema, value: string): string {
  const names: string[] =
    schema['const'] === undefined ? schema['anyOf'].map((each: TSchema) => each['const']) : [schema['const']]
  const found = names.find((name) => value.endsWith(`_${name.toUpperCase()}`))
  if (found === undefined) throw new Error(`${value} is none of ${names.join(', ')}`)
  return found
}

function expectType(value: unknown, type: string): void {
  if (typeof value !== type) throw new Error(`${String(value)} is no ${type}`)
}
