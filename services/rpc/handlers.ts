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
import type { Logger } from '../../pipelines/logger.js'
import { type Kinds, metadataOf } from './definition.js'
import { Code, RpcError } from './error.js'

/**
 * A unary method returns its answer; a server stream the messages, asked for one by one as the client takes them. A stream that
 * waits for something must end when the call's signal aborts.
 */
export type Handler<M extends Kinds> = (
  request: MessageShape<M['input']>,
  call: Call,
) => M['methodKind'] extends 'server_streaming'
  ? AsyncIterable<MessageInitShape<M['output']>>
  : MessageInitShape<M['output']> | Promise<MessageInitShape<M['output']>>

/** A handler for each method, by its name in TypeScript. What it throws that is no RpcError is told as INTERNAL, and logged. */
export type Handlers<S extends DescService> = { readonly [K in keyof S['method']]: Handler<S['method'][K]> }

export interface RpcService<S extends DescService = DescService> {
  readonly descriptor: S
  readonly handlers: Handlers<S>
}

/** A service with its handlers' types checked against each other. */
export function rpcService<S extends DescService>(descriptor: S, handlers: Handlers<S>): RpcService {
  return { descriptor, handlers }
}

/** What a server knows of its calls. */
export interface Calls {
  /** The streams that are open, so that a server that stops can end them. */
  readonly streams: Set<AbortController>
  readonly logger: Logger
  /** Told of each unary call that has ended. */
  readonly observe: (method: string, code: Code, seconds: number) => void
}

/** The handlers as gRPC wants them. */
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
/** An answer may be a message as bytes already. */
type UnaryHandler = (request: Message, call: Call) => Init | Buffer | Promise<Init | Buffer>
type StreamHandler = (request: Message, call: Call) => AsyncIterable<Init>

function unary(
  method: DescMethod,
  handler: UnaryHandler,
  { logger, observe }: Calls,
): handleUnaryCall<Message, Message | Buffer> {
  return (call, callback) => {
    const began = performance.now()
    const opened = new Call(call)
    const over = (code: Code): void => {
      opened.over()
      observe(method.name, code, (performance.now() - began) / 1000)
    }
    const answer = async (): Promise<Message | Buffer> => {
      const made = await handler(call.request, opened)
      return Buffer.isBuffer(made) ? made : create(method.output, made)
    }
    answer().then(
      (message) => {
        over(Code.OK)
        opened.sendHeaders()
        callback(null, message)
      },
      (error: unknown) => {
        const failure = told(error, method, logger)
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
): handleServerStreamingCall<Message, Message> {
  return (call) => {
    const opened = new Call(call)
    streams.add(opened.abort)
    const send = async (): Promise<void> => {
      for await (const message of handler(call.request, opened)) {
        opened.sendHeaders()
        if (!call.write(create(method.output, message))) await drained(call, opened.signal)
        if (opened.signal.aborted) break
      }
      opened.signal.throwIfAborted()
    }
    send()
      .then(
        () => call.end(),
        (error: unknown) => call.emit('error', statusOf(told(error, method, logger))),
      )
      .finally(() => {
        opened.over()
        streams.delete(opened.abort)
      })
  }
}

/** What a handler knows of its call besides the request. */
export class Call {
  /** Ends the call: when the client has disconnected, its deadline has passed, or (streams only) the server stops. */
  readonly abort = new AbortController()
  /** Of `abort`. */
  readonly signal = this.abort.signal
  readonly #call: ServerUnaryCall<Message, Message> | ServerWritableStream<Message, Message>
  #headers: Metadata | undefined = new Metadata()
  #isOver = false

  constructor(call: ServerUnaryCall<Message, Message> | ServerWritableStream<Message, Message>) {
    this.#call = call
    call.on('cancelled', () => {
      if (!this.#isOver)
        this.abort.abort(new RpcError('HW_RPC_FAILED', 'the client has disconnected', {}, Code.CANCELLED))
    })
  }

  /** Address of whoever holds the connection, as text; empty where it is not known. */
  get peer(): string {
    const peer = this.#call.getPeer()
    return peer.slice(0, Math.max(0, peer.lastIndexOf(':')))
  }

  /** Returns the values of a name in the request's metadata, joined by commas; an empty string where there are none. */
  metadata(name: string): string {
    return this.#call.metadata.get(name).map(String).join(',')
  }

  /** Sets a header; headers are sent before the first message, and not at all where there is none. */
  setHeader(name: string, value: string): void {
    this.#headers?.set(name, value)
  }

  /** Notes the end: gRPC calls a call cancelled that has ended well, too. */
  over(): void {
    this.#isOver = true
  }

  /** Sends the headers now, so that the client of a stream knows that it has begun. */
  sendHeaders(): void {
    if (this.#headers !== undefined) this.#call.sendMetadata(this.#headers)
    this.#headers = undefined
  }
}

/** Until the client has taken enough that more may be written. gRPC forgets to say so of a call that is over: the signal does. */
function drained(call: ServerWritableStream<Message, Message>, signal: AbortSignal): Promise<void> {
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

function told(error: unknown, method: DescMethod, logger: Logger): RpcError {
  if (error instanceof RpcError) return error
  logger.error({ err: error, what: `${method.parent.typeName}/${method.name}` }, 'call failed')
  return new RpcError('HW_DEFECT', 'Internal error')
}

const statusOf = ({ code, status, details, trailers }: RpcError) => {
  return { code: status, details, metadata: metadataOf({ ...trailers, code }) }
}
