import type { DescMessage, DescMethod, Message } from '@bufbuild/protobuf'
import { ReadsService, type SubscribeRequest } from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import type { Origin } from '../../../access/client-address.js'
import { addressBytes } from '../../../access/ip-address.js'
import { bytesOf } from '../../../rpc/definition.js'
import { RpcError } from '../../../rpc/error.js'
import type { Call, RpcService } from '../../../rpc/handlers.js'
import type { Encoding } from '../../core/answering/encoding.js'
import type { Failure } from '../../core/answering/failure.js'
import type { Reader } from '../../core/answering/reader.js'
import type { Read } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import type { ChainState } from '../../core/state/state.js'
import { argumentsIn, toMessage } from './messages.js'
import { EncodedEvents, type Feeds, subscription } from './subscription.js'

/** Returns the gRPC service of the reads and the feed, as in reads.proto. @throws if a read is missing there: run `npm run proto`. */
export function readsService(reader: Reader, feeds: Feeds, reads: readonly Read[]): RpcService {
  const assertWithinLimit = async (call: Call): Promise<void> => {
    const failure = await reader.limit.over(() => originOf(call))
    if (failure !== undefined) throw rpcError(failure)
  }
  const unary = reads.map((read) => {
    const { input, output, localName } = methodOf(read)
    const encoding = encodingOf(read, output)
    const handler = async (request: Message, call: Call): Promise<Buffer> => {
      await assertWithinLimit(call)
      const outcome = await reader.answer(read, {
        argument: argumentsIn(request, input),
        minChainHeight: call.metadata('x-min-chain-height'),
        authorization: () => call.metadata('authorization'),
        onDisconnect: (callback) => {
          if (call.signal.aborted) callback()
          else call.signal.addEventListener('abort', callback)
        },
        encoding,
        charge: (requests) => reader.limit.over(() => originOf(call), requests),
      })
      if (!('answer' in outcome)) throw rpcError(outcome)
      for (const [name, value] of Object.entries(stateOf(outcome.answer.past ?? outcome.chain)))
        call.setHeader(name, value)
      return outcome.answer.body
    }
    return [localName, handler] as const
  })
  const encoded = new EncodedEvents()
  const subscribe = async function* (request: SubscribeRequest, call: Call) {
    await assertWithinLimit(call)
    if (reader.notReady !== undefined) throw rpcError(reader.notReady)
    yield* subscription(feeds, request, call, encoded)
  }
  return {
    descriptor: ReadsService,
    handlers: { ...Object.fromEntries(unary), subscribe } as never,
  }
}

function methodOf({ name }: Read): DescMethod {
  const method = ReadsService.methods.find(({ localName }) => localName === name)
  if (method === undefined) throw new Error(`reads.proto has no method for ${name}`)
  return method
}

/** Returns the Protobuf encoding of a read. A named shape is the only field of its response, `TipResponse.block` for example. */
function encodingOf({ answer }: Read, output: DescMessage): Encoding {
  const [first] = output.fields
  const isWrapped = first !== undefined && !(first.jsonName in (answer['properties'] as object))
  return {
    name: 'protobuf',
    encode: (answer) => {
      const value: unknown = answer instanceof WrittenAnswer ? answer.parse() : answer
      const fields = isWrapped ? { [first.jsonName]: value } : (value as Record<string, unknown>)
      const message = toMessage(output, fields)
      return { body: bytesOf(output, message), etag: '' }
    },
  }
}

/** Converts a failure. The trailers contain what REST has in headers and body. */
function rpcError({ code, message, retryMs, details = {}, chain }: Failure): RpcError {
  const trailers = stateOf(chain)
  if (retryMs !== undefined) trailers['retry-after-ms'] = String(retryMs)
  for (const [name, value] of Object.entries(details))
    if (value !== null) trailers[kebab(name)] = String(value)
  return new RpcError(code, message, trailers)
}

/** Converts a name: indexedHeight, retry_after_ms → indexed-height, retry-after-ms. */
const kebab = (name: string): string =>
  name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function stateOf(chain: Pick<ChainState, 'height' | 'tipHash'> | undefined): Record<string, string> {
  return chain === undefined ? {} : { 'x-chain-height': String(chain.height), 'x-chain-tip': chain.tipHash }
}

function originOf(call: Call): Origin {
  return { peer: addressBytes(call.peer), forwardedFor: call.metadata('x-forwarded-for') }
}
