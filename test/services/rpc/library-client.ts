import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { StringValueSchema } from '@bufbuild/protobuf/wkt'
import { type Client, credentials, loadPackageDefinition, type GrpcObject } from '@grpc/grpc-js'

const require = createRequire(import.meta.url)

/* eslint-disable @typescript-eslint/no-explicit-any -- clients made of a .proto at run time have no types */

/**
 * Makes a client of a service that a library declares, from the library's own .proto as any other client would.
 * @param file within the library's folder.
 */
export function libraryClient(
  library: string,
  file: string,
  service: string,
  address: string,
): Client & Record<string, any> {
  const main = require.resolve(library)
  const { loadSync } = createRequire(main)('@grpc/proto-loader') as {
    loadSync: (path: string, options: object) => Parameters<typeof loadPackageDefinition>[0]
  }
  const path = join(dirname(main), file)
  const options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true }
  const loaded = service
    .split('.')
    .reduce<GrpcObject>((at, name) => at[name] as GrpcObject, loadPackageDefinition(loadSync(path, options)))
  const Made = loaded as unknown as new (address: string, how: object) => Client & Record<string, any>
  return new Made(address, credentials.createInsecure())
}

const healthClient = (address: string): Client & Record<string, any> =>
  libraryClient('grpc-health-check', '../../proto/health/v1/health.proto', 'grpc.health.v1.Health', address)

/**
 * Watches the health of a service.
 * @param reported receives each status.
 * @returns the error that ends it.
 */
export function watchHealth(
  address: string,
  service: string,
  reported: (health: string) => void,
): () => void {
  const client = healthClient(address)
  const stream = client['Watch']({ service })
  stream.on('data', ({ status }: { status: string }) => reported(status))
  stream.on('error', () => undefined)
  return () => {
    stream.cancel()
    client.close()
  }
}

/** Returns the health of a service, by `grpc.health.v1`, or the gRPC code of the error. */
export function healthAt(address: string, service: string): Promise<string | number> {
  const client = healthClient(address)
  return new Promise((resolve) => {
    client['Check']({ service }, (error: { code: number } | null, answer: { status: string }) => {
      client.close()
      resolve(error?.code ?? answer.status)
    })
  })
}

/**
 * Sends reflection requests one after the other, as grpcurl does.
 * @param version v1 or v1alpha.
 */
export class ReflectionClient {
  readonly #client: Client & Record<string, any>

  constructor(address: string, version: string) {
    const file = `../proto/grpc/reflection/${version}/reflection.proto`
    this.#client = libraryClient(
      '@grpc/reflection',
      file,
      `grpc.reflection.${version}.ServerReflection`,
      address,
    )
  }

  ask(request: Readonly<Record<string, string>>): Promise<Record<string, any>> {
    const stream = this.#client['ServerReflectionInfo']()
    return new Promise((resolve, reject) => {
      stream.on('data', (answer: Record<string, any>) => {
        resolve(answer)
        stream.end()
      })
      stream.on('error', reject)
      stream.write(request)
    })
  }

  async services(): Promise<string[]> {
    const { list_services_response: list } = await this.ask({ list_services: '*' })
    return list.service.map(({ name }: { name: string }) => name)
  }

  /** Returns the encoded descriptors of the files that a symbol needs. */
  async filesOf(symbol: string): Promise<Buffer[]> {
    const answer = await this.ask({ file_containing_symbol: symbol })
    return answer['file_descriptor_response'].file_descriptor_proto
  }

  close(): void {
    this.#client.close()
  }
}

/** This number of requests is answered; further ones wait in the server. */
const MAX_PINGS = 200

/**
 * Requests the descriptor of a symbol repeatedly without reading the answers (the library's clients read them in any
 * case), until the server accepts no more requests while it answers pings, or has accepted `most`.
 * @returns how many it accepted.
 */
export async function floodReflection(address: string, symbol: string, most: number): Promise<number> {
  const session = connect(`http://${address}`)
  await once(session, 'connect')
  const stream = session.request({
    ':method': 'POST',
    ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  const message = toBinary(StringValueSchema, create(StringValueSchema, { value: symbol }))
  // The field of a request with the symbol is the fourth, not the first.
  message[0] = (4 << 3) | 2
  const frame = framed(message)
  let taken = 0
  const write = async (): Promise<boolean> => {
    let isTaken = false
    stream.write(frame, () => (isTaken = true))
    for (let pings = 0; pings < MAX_PINGS && !isTaken; pings++)
      await new Promise<void>((resolve) => session.ping(() => resolve()))
    return isTaken
  }
  while (taken < most && (await write())) taken++
  session.destroy()
  return taken
}

/** Requests passages over a connection of its own, and reads no response beyond its first bytes. */
export class StalledClient {
  /** The number of calls that failed without a response. */
  refused = 0
  /** The number of calls that the server has reset. */
  ended = 0
  readonly #session: ClientHttp2Session

  constructor(address: string, calls: number, message: Uint8Array) {
    this.#session = connect(address)
    this.#session.on('error', () => undefined)
    for (let call = 0; call < calls; call++) this.#call(message)
  }

  close(): void {
    this.#session.destroy()
  }

  #call(message: Uint8Array): void {
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': '/headwater.retrieval.v1.RetrievalService/Passages',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined) this.refused++
    })
    stream.on('error', () => undefined)
    stream.on('close', () => {
      if (stream.rstCode === constants.NGHTTP2_CANCEL) this.ended++
    })
    stream.end(framed(message))
  }
}

/** Returns a message as gRPC sends it, without compression. */
function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  return frame
}
