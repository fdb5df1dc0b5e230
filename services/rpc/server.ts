import { Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js'
import { Health } from '../../proto/gen/health/v1/health_pb.js'
import type { Logger } from '../../pipelines/logger.js'
import { assertPortFree, hostInUrl } from '../process/ports.js'
import { serviceDefinition } from './definition.js'
import { RpcError } from './error.js'
import { type Calls, implementation, type RpcService } from './handlers.js'
import { HealthService } from './health.js'
import { addReflection } from './reflection.js'
import { UnreadResponses } from './unread.js'

export interface RpcServerOptions {
  readonly host: string
  /** 0 for a free one. */
  readonly port: number
  /** Made by `rpcService`. */
  readonly services: readonly RpcService[]
  readonly logger: Logger
  /** The use of the port and its setting, for the error message if it is in use. */
  readonly what?: string
  /** True in one of several processes of `node:cluster` that share the port, which the primary has checked. */
  readonly isShared?: boolean
  /** Called at the end of each unary call, with the name of its method. */
  readonly observe?: Calls['observe']
}

export interface RpcServer {
  readonly port: number
  /** The number of open streams. */
  readonly streams: number
  /** Sets the status of a service in `grpc.health.v1`, by its full name; NOT_SERVING at the start. */
  setServing(name: string, serves: boolean): void
  /** Rejects new calls, ends the streams (UNAVAILABLE), and waits up to a second for calls in progress. */
  close(): Promise<void>
}

/** The maximum wait for calls in progress, and for clients that keep their connection open. */
const STOP_WAIT_MS = 1_000

const OPTIONS: ServerOptions = {
  // Requests are a few arguments.
  'grpc.max_receive_message_length': 64 * 1024,
  'grpc.max_concurrent_streams': 100,
  // A client that vanished without closing its connection is detected within 40 seconds, and its streams end.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
}

/** Serves gRPC without TLS, with health (`grpc.health.v1`) and reflection. @throws PortTaken, StartRefused. */
export async function startRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const { host, port, services, logger, what = 'gRPC', isShared = false, observe = () => undefined } = options
  const server = new Server(OPTIONS)
  const calls: Calls = { streams: new Set(), unread: new UnreadResponses(), logger, observe }
  const health = new HealthService(services.map(({ descriptor }) => descriptor.typeName))
  for (const service of services)
    server.addService(serviceDefinition(service.descriptor), implementation(service, calls))
  health.addTo(server)
  addReflection(server, [...services.map(({ descriptor }) => descriptor), Health])
  if (port !== 0 && !isShared) await assertPortFree(port, host, what)
  const boundPort = await listen(server, host, port)
  return {
    port: boundPort,
    get streams() {
      return calls.streams.size
    },
    setServing: (name, serves) => {
      health.set(name, serves)
    },
    close: async () => {
      for (const { descriptor } of services) health.set(descriptor.typeName, false)
      for (const stream of calls.streams) stream.abort(new RpcError('HW_NOT_READY', 'the server is stopping'))
      await stop(server)
    },
  }
}

function listen(server: Server, host: string, port: number): Promise<number> {
  const address = `${hostInUrl(host)}:${String(port)}`
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, boundPort) => {
      if (error === null) resolve(boundPort)
      else reject(error)
    })
  })
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown()
    }, STOP_WAIT_MS)
    // Also called after forceShutdown.
    server.tryShutdown(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
