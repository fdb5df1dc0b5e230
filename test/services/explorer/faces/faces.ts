import { type DescMethod, type Message, ScalarType } from '@bufbuild/protobuf'
import { explorerClient, ExplorerError, stateOf } from '../../../../client/client.js'
import { ReadsService } from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import type { Read } from '../../../../services/explorer/reads/read.js'
import { type RpcClient, rpcClient } from '../../../../services/rpc/client.js'
import type { RpcError } from '../../../../services/rpc/error.js'
import { getAnswer } from '../../../harness/pipeline.js'
import { pathOf } from '../edges.js'
import { restJson } from '../rpc/rest-json.js'

/** Arguments as text, by their names in REST. */
export type Texts = Readonly<Record<string, string>>

/** What a client of a face receives. */
export interface Reply {
  /** The code of the error; undefined for an answer, and where the contract lists the exact fields of the body. */
  readonly code?: string | undefined
  /** The answer as REST has it, or the text of the error. */
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
    const { status, body, headers } = await getAnswer(url + pathOf(read, texts))
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

/** Returns the value that a client puts into a field for this text. */
function valueOf(field: DescMethod['input']['fields'][number], text: string): unknown {
  if (field.enum !== undefined)
    return field.enum.values.find(({ localName }) => localName.toLowerCase() === text)?.number
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
    Record<string, (args: Texts) => Promise<object>>
  >
  return {
    name: 'client',
    ask: async (read, texts) => {
      try {
        const answer = await explorer[read.name]!(texts)
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
