import { declaredFile } from './declared-file.js'
import {
  enumValue,
  type ProtoEnum,
  type ProtoField,
  type ProtoFile,
  type ProtoMessage,
  type ProtoMethod,
} from './proto-model.js'
import { type Numbers, numbersIn, renumbered } from './proto-numbers.js'

const WIDTH = 120

/** reads.proto as the declarations give it. @param before the file as it was, whose numbers stay; empty for none. */
export function readsProto(before: string, file: ProtoFile = declaredFile()): string {
  const known = numbersIn(before)
  const { service } = file
  const blocks = [
    ['syntax = "proto3";'],
    [...comment(file.doc), `package ${file.package};`],
    [...comment(service.doc), `service ${service.name} {`, ...indented(service.methods.flatMap(method)), '}'],
    ...file.messages.map((each) => message(each, '', known)),
    ...file.enums.map((each) => enumeration(each, '', known)),
  ]
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function method({ name, doc, request, response, streams }: ProtoMethod): string[] {
  const told = streams ? `stream ${response}` : response
  // Events of a stream are no response to the one request.
  const unlike = streams ? ['// buf:lint:ignore RPC_RESPONSE_STANDARD_NAME'] : []
  return [...comment(doc), ...unlike, `rpc ${name}(${request}) returns (${told});`]
}

function message(each: ProtoMessage, within: string, known: ReadonlyMap<string, Numbers>): string[] {
  const path = within + each.name
  const names = each.fields.map(({ name }) => name)
  const numbers = renumbered(names, known.get(path), 1)
  const lines = [
    ...reservations(numbers),
    ...fieldsOf(each.fields, numbers),
    ...each.messages.flatMap((nested) => message(nested, `${path}.`, known)),
    ...each.enums.flatMap((nested) => enumeration(nested, `${path}.`, known)),
  ]
  const begin = [...comment(each.doc), `message ${each.name} {`]
  return lines.length === 0
    ? [...begin.slice(0, -1), `message ${each.name} {}`]
    : [...begin, ...indented(lines), '}']
}

function fieldsOf(fields: readonly ProtoField[], numbers: Numbers): string[] {
  const lines = (some: readonly ProtoField[]): string[] => some.flatMap((each) => field(each, numbers))
  const oneofs = [...new Set(fields.flatMap(({ oneof }) => oneof ?? []))]
  return [
    ...lines(fields.filter(({ oneof }) => oneof === undefined)),
    ...oneofs.flatMap((name) => [
      `oneof ${name} {`,
      ...indented(lines(fields.filter(({ oneof }) => oneof === name))),
      '}',
    ]),
  ]
}

function field({ name, label, type, jsonName, doc }: ProtoField, { byName }: Numbers): string[] {
  const usual = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const option = jsonName === '' || jsonName === usual ? '' : ` [json_name = "${jsonName}"]`
  const labelled = label === '' ? type : `${label} ${type}`
  return [...comment(sentence(doc)), `${labelled} ${name} = ${String(byName.get(name))}${option};`]
}

function enumeration(each: ProtoEnum, within: string, known: ReadonlyMap<string, Numbers>): string[] {
  const names = ['unspecified', ...each.values].map((value) => enumValue(each.name, value))
  const numbers = renumbered(names, known.get(within + each.name), 0)
  const values = [...numbers.byName].map(([name, number]) => `${name} = ${String(number)};`)
  return [
    ...comment(each.doc),
    `enum ${each.name} {`,
    ...indented([...reservations(numbers), ...values]),
    '}',
  ]
}

function reservations({ reserved, reservedNames }: Numbers): string[] {
  return [
    ...(reserved.length === 0 ? [] : [`reserved ${reserved.join(', ')};`]),
    ...(reservedNames.length === 0
      ? []
      : [`reserved ${reservedNames.map((name) => `"${name}"`).join(', ')};`]),
  ]
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? '' : `  ${line}`))

const sentence = (doc: string): string => (doc === '' ? '' : `${doc.charAt(0).toUpperCase()}${doc.slice(1)}.`)

/** Broken where the text breaks, and where a line would be too long. */
function comment(doc: string): string[] {
  if (doc === '') return []
  return doc.split('\n').flatMap((paragraph) => {
    const lines: string[] = []
    let line = '//'
    for (const word of paragraph.split(' ').filter((each) => each !== '')) {
      if (line.length + word.length >= WIDTH - 4) {
        lines.push(line)
        line = '//'
      }
      line += ` ${word}`
    }
    return [...lines, line]
  })
}
