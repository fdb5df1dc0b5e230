import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  isFieldSet,
  type Message,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf'
import type { RawArgument } from '../../core/reads/arguments.js'

type Json = Readonly<Record<string, unknown>>

/** Returns a reader of arguments by their REST names, as text or lists: undefined if absent, the number for an unknown enum value. */
export function argumentsIn(message: Message, descriptor: DescMessage): (name: string) => RawArgument {
  return (name) => {
    const field = descriptor.fields.find(({ jsonName }) => jsonName === name)
    if (field === undefined || (field.proto.proto3Optional && !isFieldSet(message, field))) return undefined
    const value = (message as unknown as Json)[field.localName]
    if (field.fieldKind === 'list') return value as readonly unknown[]
    if (field.enum === undefined) return String(value)
    return value === 0 ? undefined : (textOf(field.enum, value) ?? String(value))
  }
}

/** Creates a message from the JSON of REST, by its field names. */
export function toMessage<D extends DescMessage>(descriptor: D, json: Json): MessageShape<D> {
  const init: Record<string, unknown> = {}
  for (const field of descriptor.fields) {
    const value = json[field.jsonName]
    if (value === undefined || value === null) continue
    const list = field.fieldKind === 'list' ? (value as unknown[]) : undefined
    const fieldValue = list === undefined ? toItem(field, value) : list.map((each) => toItem(field, each))
    if (field.oneof === undefined) init[field.localName] = fieldValue
    else init[field.oneof.localName] = { case: field.localName, value: fieldValue }
  }
  return create(descriptor, init as MessageInitShape<D>)
}

function toItem(field: DescField, value: unknown): unknown {
  // An optional list is a message that contains the list.
  if (field.message !== undefined)
    return toMessage(field.message, Array.isArray(value) ? { items: value } : (value as Json))
  if (field.enum !== undefined) return numberOf(field.enum, value)
  return field.scalar === ScalarType.INT64 ? BigInt(value as number) : value
}

/** Returns the text of an enum value in REST: `node_syncing` for INDEXER_STATUS_NODE_SYNCING. */
export function textOf(descriptor: DescEnum, number: unknown): string | undefined {
  return descriptor.values.find((value) => value.number === number)?.localName.toLowerCase()
}

/** Returns the number of an enum value by its text: the names of channels have hyphens. */
function numberOf(descriptor: DescEnum, text: unknown): number | undefined {
  const name = String(text).replaceAll('-', '_')
  return descriptor.values.find(({ number }) => number !== 0 && textOf(descriptor, number) === name)?.number
}
