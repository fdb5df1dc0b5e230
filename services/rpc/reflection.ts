import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { Server, ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'

/** Adds the reflection of gRPC, v1 and v1alpha: which services there are, and the files that declare them. */
export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Map<string, Buffer>()
  for (const { file } of services) collect(file, files)
  const described = { fileDescriptorProtos: [...files.values()] }
  // It looks for files in whatever the package holds, and the types want more than it reads.
  const reflection = new ReflectionService({ described } as never)
  reflection.addToServer({
    addService: (definition, methods) => server.addService(definition, unhurried(methods)),
  })
}

function collect(file: DescFile, into: Map<string, Buffer>): void {
  if (into.has(file.name)) return
  into.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)))
  for (const dependency of file.dependencies) collect(dependency, into)
}

/** The library answers as fast as it is asked: a client that asks and does not read would fill the memory with answers. */
function unhurried(methods: UntypedServiceImplementation): UntypedServiceImplementation {
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
