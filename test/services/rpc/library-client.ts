import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Client, credentials, loadPackageDefinition, type GrpcObject } from '@grpc/grpc-js'

const require = createRequire(import.meta.url)

/* eslint-disable @typescript-eslint/no-explicit-any -- clients made of a .proto at run time have no types */

/**
 * A client of a service that a library declares, made of the library's own .proto as any other client would be.
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

/** Health of a service, by `grpc.health.v1`; the gRPC code where there is none. */
export function healthAt(address: string, service: string): Promise<string | number> {
  const client = libraryClient(
    'grpc-health-check',
    '../../proto/health/v1/health.proto',
    'grpc.health.v1.Health',
    address,
  )
  return new Promise((resolve) => {
    client['Check']({ service }, (error: { code: number } | null, answer: { status: string }) => {
      client.close()
      resolve(error?.code ?? answer.status)
    })
  })
}

/** Asks reflection one thing after the other, as grpcurl does. @param version v1 or v1alpha. */
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

  /** Encoded descriptors of the files that a symbol needs. */
  async filesOf(symbol: string): Promise<Buffer[]> {
    const answer = await this.ask({ file_containing_symbol: symbol })
    return answer['file_descriptor_response'].file_descriptor_proto
  }

  close(): void {
    this.#client.close()
  }
}
