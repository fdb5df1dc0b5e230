import type { DescMethod, Message } from '@bufbuild/protobuf'
import { ReadsService, type SubscribeRequest } from '../../../proto/gen/headwater/reads/v1/reads_pb.js'
import type { Upgrade } from '../../../pipelines/tables/migrate.js'
import { Code, RpcError } from '../../rpc/error.js'
import type { Call, RpcService } from '../../rpc/handlers.js'
import { Unavailable } from '../tables/availability.js'
import { addressBytes, type Origin } from '../../client-address.js'
import type { Feed } from '../feed/feed.js'
import { NodeUnavailable } from '../health/node-health.js'
import {
  type Good,
  type Outcome,
  OVERLOADED,
  OVERLOADED_RETRY_SECONDS,
  type Reader,
  SYNCING,
  SYNCING_RETRY_SECONDS,
  Unauthorized,
  type Unknown,
  UPGRADING,
  UPGRADING_RETRY_SECONDS,
} from '../answering/reader.js'
import { BadArgument, type Read } from '../reads/read.js'
import { answerField } from './declared-file.js'
import { argumentsIn, toMessage } from './messages.js'
import { pascal } from './proto-model.js'
import { subscription } from './subscription.js'

/** The reads and the feed as the gRPC service that reads.proto has. @throws where a read is not in it: `npm run proto`. */
export function readsService(reader: Reader, feed: Feed, reads: readonly Read[]): RpcService {
  const limited = (call: Call): void => {
    const waitMs = reader.overLimit(() => originOf(call))
    if (waitMs !== undefined)
      throw new RpcError(Code.RESOURCE_EXHAUSTED, 'Rate limit exceeded', { 'retry-after-ms': String(waitMs) })
  }
  const unary = reads.map((read) => {
    const method = methodOf(read)
    const field = answerField(read)
    const handler = async (request: Message, call: Call): Promise<Message> => {
      limited(call)
      const { answer, chain } = await ask(reader, read, argumentsIn(request, method.input), call)
      if (chain !== undefined)
        for (const [name, value] of Object.entries(stateOf(chain))) call.setHeader(name, value)
      const json = JSON.parse(answer.body.toString()) as Record<string, unknown>
      return toMessage(
        method.output,
        field === undefined ? json : { [method.output.fields[0]?.jsonName ?? '']: json },
      )
    }
    return [method.localName, handler] as const
  })
  const subscribe = (request: SubscribeRequest, call: Call) => {
    limited(call)
    try {
      reader.mustBeReady()
    } catch (error) {
      throw failureOf(error, reader.upgrade)
    }
    return subscription(feed, request, call)
  }
  return {
    descriptor: ReadsService,
    handlers: { ...Object.fromEntries(unary), subscribe } as never,
  }
}

function methodOf({ name }: Read): DescMethod {
  const method = ReadsService.methods.find((each) => each.name === pascal(name))
  if (method === undefined) throw new Error(`reads.proto has no ${pascal(name)}`)
  return method
}

/** @throws RpcError, and what is a fault of ours. */
async function ask(
  reader: Reader,
  read: Read,
  argument: (name: string) => string | undefined,
  call: Call,
): Promise<Good> {
  const outcome = await askedOf(reader, read, argument, call).catch((error: unknown) => {
    throw failureOf(error, reader.upgrade)
  })
  if ('refused' in outcome)
    throw new RpcError(Code.UNAVAILABLE, OVERLOADED, {
      'retry-after-ms': String(OVERLOADED_RETRY_SECONDS * 1000),
    })
  if ('missing' in outcome) throw new RpcError(Code.NOT_FOUND, outcome.missing, stateOf(outcome.chain))
  if ('syncing' in outcome) throw new RpcError(Code.UNAVAILABLE, SYNCING, progressOf(outcome))
  return outcome
}

/** The trailers say what REST has in the body. */
function progressOf({ syncing: { indexedHeight, nodeHeight }, chain }: Unknown): Record<string, string> {
  return {
    ...stateOf(chain),
    'retry-after-ms': String(SYNCING_RETRY_SECONDS * 1000),
    'indexed-height': String(indexedHeight),
    ...(nodeHeight === null ? {} : { 'node-height': String(nodeHeight) }),
  }
}

async function askedOf(
  reader: Reader,
  read: Read,
  argument: (name: string) => string | undefined,
  call: Call,
): Promise<Outcome> {
  const { signal } = call
  return reader.ask(read, {
    argument,
    minChainHeight: call.metadata('x-min-chain-height'),
    authorization: () => call.metadata('authorization'),
    whenGone: (callback) => {
      if (signal.aborted) callback()
      else signal.addEventListener('abort', callback)
    },
  })
}

function failureOf(error: unknown, upgrade: Upgrade | undefined): unknown {
  if (error instanceof BadArgument) return new RpcError(Code.INVALID_ARGUMENT, error.message)
  if (error instanceof Unauthorized) return new RpcError(Code.UNAUTHENTICATED, error.message)
  if (error instanceof NodeUnavailable) return new RpcError(Code.UNAVAILABLE, 'Node unavailable')
  if (error instanceof Unavailable && upgrade !== undefined)
    return new RpcError(Code.UNAVAILABLE, UPGRADING, trailersOf(upgrade))
  if (error instanceof Unavailable) return new RpcError(Code.UNAVAILABLE, 'Database unavailable')
  return error
}

/** The trailers say what REST has in the body. */
function trailersOf({
  migrationsDone,
  migrationsTotal,
  migration,
  partsLeft,
}: Upgrade): Record<string, string> {
  return {
    'retry-after-ms': String(UPGRADING_RETRY_SECONDS * 1000),
    'migrations-done': String(migrationsDone),
    'migrations-total': String(migrationsTotal),
    migration,
    'parts-left': String(partsLeft),
  }
}

function stateOf({
  height,
  tipHash,
}: {
  readonly height: number
  readonly tipHash: string
}): Record<string, string> {
  return { 'x-chain-height': String(height), 'x-chain-tip': tipHash }
}

function originOf(call: Call): Origin {
  return { peer: addressBytes(call.peer), forwardedFor: call.metadata('x-forwarded-for') }
}
