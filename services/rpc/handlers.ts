import {
  create,
  type DescMethod,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Logger } from '../../pipelines/logger.js'
import { bytesOf, type Kinds, metadataOf } from './definition.js'
import { Code, RpcError } from './error.js'
import type { UnreadResponses } from './unread.js'

/**
 * The handler of a method. Of a unary method it returns the response; of a server stream the messages, which are pulled one by one
 * as the client reads them. A stream that waits must end when the call's signal aborts.
 */
export type Handler<M extends Kinds> = (
  request: MessageShape<M['input']>,
  call: Call,
) => M['methodKind'] extends 'server_streaming'
  ? AsyncIterable<MessageInitShape<M['output']>>
  : MessageInitShape<M['output']> | Promise<MessageInitShape<M['output']>>

/** A handler for each method, by its name in TypeScript. An error that is no RpcError is logged, and sent as INTERNAL. */
export type Handlers<S extends DescService> = { readonly [K in keyof S['method']]: Handler<S['method'][K]> }

export interface RpcService<S extends DescService = DescService> {
  readonly descriptor: S
  readonly handlers: Handlers<S>
}

/** Returns a service; the types of its handlers are checked against its descriptor. */
export function rpcService<S extends DescService>(descriptor: S, handlers: Handlers<S>): RpcService {
  return { descriptor, handlers }
}

/** The shared state of a server's calls. */
export interface Calls {
  /** The open streams, which a stopping server aborts. */
  readonly streams: Set<AbortController>
  readonly unread: UnreadResponses
  readonly logger: Logger
  /** Called at the end of each unary call. */
  readonly observe: (method: string, code: Code, seconds: number) => void
}

/** Returns the handlers in the form of grpc-js. */
export function implementation(
  { descriptor, handlers }: RpcService,
  calls: Calls,
): UntypedServiceImplementation {
  return Object.fromEntries(
    descriptor.methods.map((method) => {
      const handler = handlers[method.localName]
      if (handler === undefined) throw new Error(`${method.parent.typeName}.${method.name} has no handler`)
      return [
        method.localName,
        method.methodKind === 'server_streaming'
          ? streaming(method, handler as unknown as StreamHandler, calls)
          : unary(method, handler, calls),
      ]
    }),
  )
}

type Init = Record<string, unknown>
/** A handler may return serialised messages. */
type UnaryHandler = (request: Message, call: Call) => Init | Buffer | Promise<Init | Buffer>
type StreamHandler = (request: Message, call: Call) => AsyncIterable<Init | Buffer>

function unary(
  method: DescMethod,
  handler: UnaryHandler,
  { logger, observe, unread }: Calls,
): handleUnaryCall<Message, Message | Buffer> {
  return (call, callback) => {
    const began = performance.now()
    const opened = new Call(call)
    const over = (code: Code): void => {
      opened.over()
      observe(method.name, code, (performance.now() - began) / 1000)
    }
    const answer = async (): Promise<Buffer> => {
      const response = await handler(call.request, opened)
      const bytes = Buffer.isBuffer(response)
        ? response
        : bytesOf(method.output, create(method.output, response))
      opened.signal.throwIfAborted()
      const closed = unread.add(bytes.length, () => {
        opened.reset()
      })
      if (closed === undefined) throw overloaded()
      call.once('cancelled', closed)
      return bytes
    }
    answer().then(
      (message) => {
        over(Code.OK)
        opened.sendHeaders()
        callback(null, message)
      },
      (error: unknown) => {
        const failure = toRpcError(error, method, logger)
        over(failure.status)
        callback(statusOf(failure))
      },
    )
  }
}

function streaming(
  method: DescMethod,
  handler: StreamHandler,
  { streams, logger }: Calls,
): handleServerStreamingCall<Message, Message | Buffer> {
  return (call) => {
    const opened = new Call(call)
    streams.add(opened.abort)
    const send = async (): Promise<void> => {
      for await (const message of handler(call.request, opened)) {
        opened.sendHeaders()
        const response = Buffer.isBuffer(message) ? message : create(method.output, message)
        if (!call.write(response)) await drained(call, opened.signal)
        if (opened.signal.aborted) break
      }
      opened.signal.throwIfAborted()
    }
    send()
      .then(
        () => call.end(),
        (error: unknown) => call.emit('error', statusOf(toRpcError(error, method, logger))),
      )
      .finally(() => {
        opened.over()
        streams.delete(opened.abort)
      })
  }
}

type OpenCall = ServerUnaryCall<Message, Message | Buffer> | ServerWritableStream<Message, Message | Buffer>

/** A call, without its request. */
export class Call {
  /** Aborted when the client has disconnected, its deadline has passed, or (streams only) the server stops. */
  readonly abort = new AbortController()
  /** The signal of `abort`. */
  readonly signal = this.abort.signal
  readonly #call: OpenCall
  #headers: Metadata | undefined = new Metadata()
  #isOver = false

  constructor(call: OpenCall) {
    this.#call = call
    call.on('cancelled', () => {
      if (!this.#isOver)
        this.abort.abort(new RpcError('HW_RPC_FAILED', 'the client has disconnected', {}, Code.CANCELLED))
    })
  }

  /** Address of the peer of the connection, as text; empty if it is not known. */
  get peer(): string {
    const peer = this.#call.getPeer()
    return peer.slice(0, Math.max(0, peer.lastIndexOf(':')))
  }

  /** Returns the values of a name in the request's metadata, joined by commas; an empty string for none. */
  metadata(name: string): string {
    return this.#call.metadata.get(name).map(String).join(',')
  }

  /** Sets a header. Headers are sent before the first message, and not at all without one. */
  setHeader(name: string, value: string): void {
    this.#headers?.set(name, value)
  }

  /** Marks the call as ended: grpc-js emits `cancelled` even after a successful end. */
  over(): void {
    this.#isOver = true
  }

  /** Ends the call at once. A status would wait behind a message that the client does not read. */
  reset(): void {
    const { call } = this.#call as unknown as { call: { stream: ServerHttp2Stream } }
    call.stream.close(constants.NGHTTP2_CANCEL)
  }

  /** Sends the headers now, so that the client of a stream knows that it has started. */
  sendHeaders(): void {
    if (this.#headers !== undefined) this.#call.sendMetadata(this.#headers)
    this.#headers = undefined
  }
}

/** Resolves when the client has read enough to write more, or at the end of the call, after which grpc-js emits no `drain`. */
function drained(call: ServerWritableStream<Message, Message | Buffer>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      call.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    call.on('drain', done)
    signal.addEventListener('abort', done)
  })
}

/** Returns the failure of a call whose response finds no room among the responses that clients have not read. */
const overloaded = (): RpcError =>
  new RpcError('HW_OVERLOADED', 'Overloaded, try again later', { 'retry-after-ms': '1000' })

function toRpcError(error: unknown, method: DescMethod, logger: Logger): RpcError {
  if (error instanceof RpcError) return error
  logger.error({ err: error, what: `${method.parent.typeName}/${method.name}` }, 'call failed')
  return new RpcError('HW_DEFECT', 'Internal error')
}

const statusOf = ({ code, status, details, trailers }: RpcError) => {
  return { code: status, details, metadata: metadataOf({ ...trailers, code }) }
}
