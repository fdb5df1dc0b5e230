import { EXPLORER_GRPC } from '../../../process/ports.js'
import { Code } from '../../../rpc/error.js'
import { startRpcServer } from '../../../rpc/server.js'
import type { Core } from '../../core/core.js'
import type { ListenAddress, Listener, ListenerFace } from '../face.js'
import { readsService } from './reads-service.js'

/** Called at the end of each unary call. @param code the name of its status code. */
export type ObserveCall = (method: string, code: string, seconds: number) => void

/** Returns the face of the reads and channels as the service of reads.proto, over gRPC. */
export function grpcFace(core: Core, observeCall: ObserveCall): ListenerFace {
  const service = readsService(core.reader, core, core.reads)
  const observe = (method: string, code: Code, seconds: number): void => {
    observeCall(method, Code[code], seconds)
  }
  return {
    async listen(address: ListenAddress): Promise<Listener> {
      const server = await startRpcServer({
        ...address,
        services: [service],
        logger: core.logger,
        what: EXPLORER_GRPC,
        observe,
      })
      return {
        port: server.port,
        get streams() {
          return server.streams
        },
        setServing: (isServing) => {
          server.setServing(service.descriptor.typeName, isServing)
        },
        close: () => server.close(),
      }
    },
  }
}
