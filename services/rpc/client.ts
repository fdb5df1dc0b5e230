import {
  create,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import {
  type CallOptions as GrpcCallOptions,
  Client,
  credentials,
  type Metadata,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js'
import { codeOf } from '../../pipelines/errors.js'
import { type Kinds, metadataOf, serviceDefinition } from './definition.js'
import { Code, RpcError } from './error.js'

export interface CallOptions {
  /** The time after which the call fails with DEADLINE_EXCEEDED; by default 10 seconds, unlimited for streams. */
  readonly timeoutMs?: number
  /** Cancels the call, which then fails with CANCELLED. */
  readonly signal?: AbortSignal
  readonly metadata?: Readonly<Record<string, string>>
  /** Called with the metadata that precedes the first message. */
  readonly onHeaders?: (headers: Readonly<Record<string, string>>) => void
}

type Method<M extends Kinds> = (
  request: MessageInitShape<M['input']>,
  options?: CallOptions,
) => M['methodKind'] extends 'server_streaming'
  ? AsyncIterable<MessageShape<M['output']>>
  : Promise<MessageShape<M['output']>>

/** The methods by their names in TypeScript; they fail with RpcError. A stream starts when its first message is requested. */
export type RpcClient<S extends DescService> = {
  readonly [K in keyof S['method']]: Method<S['method'][K]>
} & {
  /** Closes the connection; calls in progress fail. */
  close(): void
}

const UNARY_TIMEOUT_MS = 10_000

const OPTIONS = {
  // A server that was unreachable for an hour is reconnected within a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // The largest answers are pages of transactions with their witnesses.
  'grpc.max_receive_message_length': 64 * 2 ** 20,
  // A connection of its own, which `close` closes.
  'grpc.use_local_subchannel_pool': 1,
  // Only the caller knows whether it may retry.
  'grpc.enable_retries': 0,
} as const

/** Returns a client of one service, without TLS. It connects at the first call, and reconnects. @param address `host:port`. */
export function rpcClient<S extends DescService>(service: S, address: string): RpcClient<S> {
  const client = new Client(address, credentials.createInsecure(), OPTIONS)
  const definitions = serviceDefinition(service)
  const methods = service.methods.map((method) => {
    const definition = definitions[method.localName] as MethodDefinition<Message, Message>
    const call = method.methodKind === 'server_streaming' ? callStream : callUnary
    const invoke = (request: Record<string, unknown> = {}, options: CallOptions = {}): unknown =>
      call(client, definition, create(method.input, request), options)
    return [method.localName, invoke] as const
  })
  const close = (): void => {
    client.close()
  }
  return { ...Object.fromEntries(methods), close } as unknown as RpcClient<S>
}

function callUnary(
  client: Client,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Message, Message>,
  request: Message,
  { timeoutMs = UNARY_TIMEOUT_MS, ...options }: CallOptions,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    if (options.signal?.aborted === true) {
      reject(cancelled())
      return
    }
    const end = onAbort(options, () => {
      call.cancel()
    })
    const call = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadataOf(options.metadata),
      deadlineIn(timeoutMs),
      (error, response) => {
        end()
        if (error !== null) reject(rpcError(error))
        else if (response === undefined)
          reject(new RpcError('HW_RPC_FAILED', 'response without a message', {}, Code.INTERNAL))
        else resolve(response)
      },
    )
    call.on('metadata', (headers) => options.onHeaders?.(textsOf(headers)))
  })
}

/** Yields the messages of a stream. Reads few in advance; leaving the loop cancels the call. */
async function* callStream(
  client: Client,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Message, Message>,
  request: Message,
  { timeoutMs, ...options }: CallOptions,
): AsyncGenerator<Message> {
  if (options.signal?.aborted === true) throw cancelled()
  const deadline = timeoutMs === undefined ? {} : deadlineIn(timeoutMs)
  const call = client.makeServerStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    metadataOf(options.metadata),
    deadline,
  )
  const end = onAbort(options, () => {
    call.cancel()
  })
  call.on('metadata', (headers) => options.onHeaders?.(textsOf(headers)))
  try {
    for await (const message of call) yield message as Message
  } catch (error) {
    throw rpcError(error as ServiceError)
  } finally {
    end()
    call.cancel()
  }
}

/** Calls back when the caller's signal aborts. @returns a function that removes the callback. */
function onAbort({ signal }: CallOptions, cancel: () => void): () => void {
  signal?.addEventListener('abort', cancel, { once: true })
  return () => signal?.removeEventListener('abort', cancel)
}

const cancelled = (): RpcError => new RpcError('HW_RPC_FAILED', 'cancelled by the caller', {}, Code.CANCELLED)

const deadlineIn = (timeoutMs: number): GrpcCallOptions => ({ deadline: Date.now() + timeoutMs })

function textsOf(metadata: Metadata): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, String(value)]))
}

function rpcError({ code, details, metadata }: ServiceError): RpcError {
  const trailers = textsOf(metadata)
  const knownCode = codeOf(trailers)
  return new RpcError(knownCode === 'HW_UNCLASSIFIED' ? 'HW_RPC_FAILED' : knownCode, details, trailers, code)
}
