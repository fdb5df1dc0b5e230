import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { Metadata, type MethodDefinition, type ServiceDefinition } from '@grpc/grpc-js'

/** The type parameters of a method. */
export interface Kinds {
  readonly methodKind: DescMethod['methodKind']
  readonly input: DescMessage
  readonly output: DescMessage
}

export function metadataOf(texts: Readonly<Record<string, string>> = {}): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(texts)) metadata.set(name, value)
  return metadata
}

/** Returns a serialised message. */
export function bytesOf(descriptor: DescMessage, message: Message): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(descriptor, message)
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Converts a Protobuf service to the form of grpc-js, its methods by their names in TypeScript (`search`, not `Search`). */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.localName, methodDefinition(method)]))
}

function methodDefinition(method: DescMethod): MethodDefinition<Message, Message> {
  const { input, output, methodKind } = method
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message) => bytesOf(input, message),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    // A handler may return a serialised message.
    responseSerialize: (message: Message | Buffer) =>
      Buffer.isBuffer(message) ? message : bytesOf(output, message),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
    originalName: method.name,
  }
}
