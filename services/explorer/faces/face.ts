/*
 * A face is a protocol in which the explorer serves its reads and channels: a folder beside this file. It gets the core, and returns
 * either routes of the HTTP server, with WebSocket protocols at some of them, or a listener with a port of its own.
 */
import type { Encoding } from '../core/answering/encoding.js'
import type { RequestLimit } from '../core/answering/request-limit.js'
import type { Failure } from '../core/answering/failure.js'
import type { Read } from '../core/reads/read.js'
import type { ChainState } from '../core/state/state.js'
import type { Answer, PageRequest, Request } from '../http/answer.js'
import type { SocketProtocol } from '../http/sockets.js'

/** The parameters of a path, percent-encoded, by name. */
export type PathParams = Readonly<Record<string, string>>

/** The form in which a route answers with a read. */
export interface Form {
  readonly encoding: Encoding
  /** Further arguments of the read that follow from the request. */
  readonly params?: PathParams
}

interface AnyRoute {
  /** The path with `:name` for parameters. Also the route label of metrics. */
  readonly pattern: string
  /** The methods of the route as in the header `allow`. Without OPTIONS, the path is unknown to other methods. */
  readonly methods: string
  /** True if requests are counted against the rate limit. */
  readonly isLimited: boolean
}

/** A path that answers GET with a read, from memory if it can. */
export interface ReadRoute extends AnyRoute {
  readonly read: Read
  /** Returns the form for a request; undefined if the path is unknown to it. Not set: JSON. */
  readonly formFor?: (request: PageRequest) => Form | undefined
}

/** A path with an answer of its own. */
export interface HandlerRoute extends AnyRoute {
  /** The maximum size of the body of a POST request. */
  readonly maxBodyBytes?: number
  /** Answers a request of one of the methods, except OPTIONS. Errors that are no `Failure` of the core are defects. */
  readonly handle: (request: Request, params: PathParams) => Answer | Promise<Answer>
}

export type Route = ReadRoute | HandlerRoute

/** A face of the HTTP server. */
export interface HttpFace {
  readonly routes: readonly Route[]
  /** The path below which unknown paths belong to the face too, and are counted against the rate limit. */
  readonly prefix?: string
  /** Counts the requests for its routes. Not set: the limit of the server. */
  readonly limit?: RequestLimit
  /** Returns the answer for a failure. */
  readonly failed: (failure: Failure, request: PageRequest, chain: ChainState) => Answer
  /** Returns the answer for a path that no face has. Not set: 404 as JSON; only one face without a prefix has it. */
  readonly unknown?: (request: Request, chain: ChainState) => Answer
  readonly sockets?: readonly SocketProtocol[]
}

/** The address at which a face listens. */
export interface ListenAddress {
  readonly host: string
  /** 0 for a free one. */
  readonly port: number
  /** True if other processes of the explorer listen on the port too. */
  readonly isShared: boolean
}

/** A listener of a face. */
export interface Listener {
  readonly port: number
  /** The number of open streams or connections. */
  readonly streams: number
  /** Reports to clients whether the explorer can answer. */
  setServing(isServing: boolean): void
  close(): Promise<void>
}

/** A face with a port of its own. */
export interface ListenerFace {
  /** Listens until the listener is closed. @throws PortTaken. */
  listen(at: ListenAddress): Promise<Listener>
}
