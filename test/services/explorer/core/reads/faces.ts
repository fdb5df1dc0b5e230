import { type DescMethod, type Message, ScalarType } from '@bufbuild/protobuf'
import { KindGuard, type TSchema } from '@sinclair/typebox'
import { explorerClient, ExplorerError, stateOf } from '../../../../../services/client/client.js'
import { ReadsService } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { pascal } from '../../../../../services/explorer/faces/graphql/types.js'
import { literals } from '../../../../../services/explorer/core/reads/arguments.js'
import type { Read } from '../../../../../services/explorer/core/reads/read.js'
import { notNull } from '../../../../../services/explorer/core/reads/shape-names.js'
import { type RpcClient, rpcClient } from '../../../../../services/rpc/client.js'
import type { RpcError } from '../../../../../services/rpc/error.js'
import { itemsIn, requestRead, valuesOf } from '../../edges.js'
import { RESPONSE_TYPE, send } from '../../faces/graphql/client.js'
import { restJson } from '../../faces/grpc/rest-json.js'

/** Arguments as text, by their names in REST. */
export type Texts = Readonly<Record<string, string>>

/** The reply that a client of a face receives. */
export interface Reply {
  /** The code of the error; undefined for an answer, and where the contract lists the exact fields of the body. */
  readonly code?: string | undefined
  /** The answer as REST has it, or the text of the error; null for what does not exist, over GraphQL. */
  readonly content: unknown
  /** The state that the reply names. */
  readonly height: string | undefined
  readonly tip: string | undefined
}

/** A way to request reads. */
export interface Face {
  readonly name: string
  /** Returns the reply to a request; undefined if a client of this face cannot send the texts. */
  ask(read: Read, texts: Texts): Promise<Reply | undefined>
  close(): void
}

/** Returns a function that requests a read by REST, to which the other faces are compared. */
export function rest(url: string): (read: Read, texts: Texts) => Promise<Reply & { status: number }> {
  return async (read, texts) => {
    const { status, body, headers } = await requestRead(url, read, texts)
    const [height, tip] = ['x-chain-height', 'x-chain-tip'].map((name) => headers.get(name) ?? undefined)
    return { status, code: body.code, content: status === 200 ? body : body.error, height, tip }
  }
}

/** gRPC: builds a request as any client would, by the fields that reads.proto has for the arguments. */
export function grpc(address: string): Face {
  const client: RpcClient<typeof ReadsService> = rpcClient(ReadsService, address)
  return {
    name: 'gRPC',
    ask: async (read, texts) => {
      const method = methodOf(read)
      const request: Record<string, unknown> = {}
      for (const [name, text] of Object.entries(texts)) {
        const field = method.input.fields.find(({ jsonName }) => jsonName === name)!
        const value = valueOf(field, text)
        if (value === undefined) return undefined
        request[field.localName] = value
      }
      let headers: Texts = {}
      const call = client[method.localName as 'blocks'] as (
        request: object,
        options: object,
      ) => Promise<Message>
      try {
        const response = await call(request, { onHeaders: (reported: Texts) => (headers = reported) })
        return { content: restJson(read, method, response), ...stateIn(headers) }
      } catch (error) {
        if ((error as RpcError).trailers === undefined) throw error
        const { code, details, trailers } = error as RpcError
        return { code, content: details, ...stateIn(trailers) }
      }
    },
    close: () => {
      client.close()
    },
  }
}

const stateIn = (headers: Texts) => ({ height: headers['x-chain-height'], tip: headers['x-chain-tip'] })

const methodOf = (read: Read): DescMethod =>
  ReadsService.methods.find(({ name }) => name.toLowerCase() === read.name.toLowerCase())!

/** GraphQL: builds an operation as any client would, with a variable for each argument and all fields of the answer. */
export function graphql(url: string): Face {
  return {
    name: 'GraphQL',
    ask: async (read, texts) => {
      const variables = Object.entries(texts).map(([name, text]) => [
        name,
        variableOf(read.args[name]!, text),
      ])
      if (variables.some(([, value]) => value === undefined)) return undefined
      const given = Object.keys(texts).map((name) => `${name}: $${name}`)
      const declared = Object.keys(texts).map((name) => `$${name}: ${typeOf(read, name)}`)
      const list = (items: readonly string[]): string => (items.length === 0 ? '' : `(${items.join(', ')})`)
      const query = `query${list(declared)} { ${read.name}${list(given)} ${selectionOf(read.answer)} }`
      const operation = { query, variables: Object.fromEntries(variables) }
      const { data, errors, headers } = await send(url, operation, { accept: RESPONSE_TYPE })
      const state = {
        height: headers.get('x-chain-height') ?? undefined,
        tip: headers.get('x-chain-tip') ?? undefined,
      }
      const [error] = errors
      // Refused before it is read, by its computed cost: REST has no such limit.
      if (error?.extensions['code'] === 'HW_OPERATION_TOO_COSTLY') return undefined
      if (error !== undefined)
        return { code: String(error.extensions['code']), content: error.message, ...state }
      const made = data[read.name] as unknown
      return { content: made === null ? null : inRest(read.answer, made), ...state }
    },
    close: () => undefined,
  }
}

/** Returns the value of a variable for this text. */
function variableOf(schema: TSchema, text: string): unknown {
  const { type } = schema as { type?: string }
  if (literals(schema) !== undefined) return literals(schema)?.includes(text) === true ? text : undefined
  if (type === 'array') return itemsIn(text)
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined
  if (type === 'integer') return /^-?\d{1,9}$/.test(text) ? Number(text) : undefined
  return text
}

/** Returns the type of a variable. */
function typeOf({ name, args }: Read, argument: string): string {
  const schema = args[argument]!
  if (literals(schema) !== undefined) return pascal(name) + pascal(argument)
  if (KindGuard.IsArray(schema)) return '[String!]!'
  const { type, default: fallback } = schema as { type?: string; default?: unknown }
  const own = type === 'integer' ? 'Int' : type === 'boolean' ? 'Boolean' : 'String'
  return fallback === undefined && !KindGuard.IsOptional(schema) ? `${own}!` : own
}

/** Returns all fields of an answer. */
function selectionOf(schema: TSchema): string {
  const value = notNull(schema)
  if (KindGuard.IsArray(value)) return selectionOf(value.items)
  if (!KindGuard.IsObject(value)) return ''
  const fields = Object.entries(value.properties).map(([key, each]) => `${key} ${selectionOf(each)}`)
  return `{ ${fields.join(' ')} }`
}

/** Returns an answer of GraphQL as REST has it: 64-bit integers are numbers, and what is left out is absent instead of null. */
function inRest(schema: TSchema, value: unknown): unknown {
  const declared = notNull(schema)
  if (value === null) return null
  if (KindGuard.IsArray(declared)) return (value as unknown[]).map((each) => inRest(declared.items, each))
  if (!KindGuard.IsObject(declared)) return declared['type'] === 'integer' ? Number(value) : value
  const object = value as Readonly<Record<string, unknown>>
  // An input with a witness, even an empty one, has a script: null is an empty one.
  const isLeftOut = (key: string): boolean =>
    object[key] === null && !(key === 'script_sig' && object['witness'] !== null)
  return Object.fromEntries(
    Object.entries(declared.properties)
      .filter(([key, each]) => !(KindGuard.IsOptional(each) && isLeftOut(key)))
      .map(([key, each]) => [key, inRest(each, object[key])]),
  )
}

/** Returns the value that a client puts into a field for this text. */
function valueOf(field: DescMethod['input']['fields'][number], text: string): unknown {
  if (field.enum !== undefined)
    return field.enum.values.find(({ localName }) => localName.toLowerCase() === text)?.number
  if (field.fieldKind === 'list') return itemsIn(text)
  switch (field.scalar) {
    case ScalarType.INT64:
      return /^-?\d{1,18}$/.test(text) ? BigInt(text) : undefined
    case ScalarType.BOOL:
      return text === 'true' ? true : text === 'false' ? false : undefined
    default:
      return text
  }
}

/** The typed client. Programs in JavaScript can send it any text. */
export function client(url: string): Face {
  const explorer = explorerClient(url, { retries: 0 }) as unknown as Readonly<
    Record<string, (args: Readonly<Record<string, unknown>>) => Promise<object>>
  >
  return {
    name: 'client',
    ask: async (read, texts) => {
      try {
        const answer = await explorer[read.name]!(valuesOf(read, texts))
        const state = stateOf(answer)
        return {
          content: answer,
          height: state === undefined ? undefined : String(state.height),
          tip: state?.tip,
        }
      } catch (error) {
        if (!(error instanceof ExplorerError)) throw error
        return { code: error.code, content: error.message, height: undefined, tip: undefined }
      }
    },
    close: () => undefined,
  }
}
