import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { Server, ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'

/** Adds gRPC reflection, v1 and v1alpha: the list of services and the files that declare them. */
export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Map<string, Buffer>()
  for (const { file } of services) collect(file, files)
  const described = { fileDescriptorProtos: [...files.values()] }
  // The library reads only `fileDescriptorProtos` of the entries; its type requires more.
  const reflection = new ReflectionService({ described } as never)
  reflection.addToServer({
    addService: (definition, methods) => server.addService(definition, withBackpressure(methods)),
  })
}

function collect(file: DescFile, into: Map<string, Buffer>): void {
  if (into.has(file.name)) return
  into.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)))
  for (const dependency of file.dependencies) collect(dependency, into)
}

/** Pauses a stream while its client does not read. The library itself would buffer any number of answers in memory. */
function withBackpressure(methods: UntypedServiceImplementation): UntypedServiceImplementation {
  const answer = methods['ServerReflectionInfo'] as ((stream: unknown) => void) | undefined
  return {
    ServerReflectionInfo: (stream: ServerDuplexStream<object, object>) => {
      answer?.(stream)
      stream.on('data', () => {
        if (!stream.writableNeedDrain) return
        stream.pause()
        stream.once('drain', () => stream.resume())
      })
    },
  }
}
