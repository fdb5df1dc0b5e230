import type { Server, ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'

interface Asked {
  readonly service: string
}

/** `grpc.health.v1`: whether each service of a server, and the server itself under the empty name, can be asked now. */
export class HealthService {
  readonly #serving: Map<string, boolean>
  readonly #health: HealthImplementation

  /** @param names of the services; none of them serves yet. */
  constructor(names: readonly string[]) {
    this.#serving = new Map(['', ...names].map((name) => [name, false]))
    this.#health = new HealthImplementation(
      Object.fromEntries([...this.#serving.keys()].map((name) => [name, 'NOT_SERVING'])),
    )
  }

  /** @throws for a name that is not of this server. The server itself serves as long as all its services do. */
  set(name: string, serves: boolean): void {
    if (name === '' || !this.#serving.has(name)) throw new Error(`there is no service ${name} here`)
    this.#change(name, serves)
    this.#change(
      '',
      [...this.#serving].every(([each, value]) => each === '' || value),
    )
  }

  addTo(server: Server): void {
    this.#health.addToServer({
      addService: (definition, methods) => {
        const { watch, ...others } = methods as UntypedServiceImplementation
        server.addService(definition, {
          ...others,
          // The library remembers each name that was ever watched, so that strangers could fill the memory with names.
          watch: (call: ServerWritableStream<Asked, object>) => {
            if (this.#serving.has(call.request.service)) (watch as (call: unknown) => void)(call)
            else call.write({ status: 'SERVICE_UNKNOWN' })
          },
        })
      },
    })
  }

  #change(name: string, serves: boolean): void {
    if (this.#serving.get(name) === serves) return
    this.#serving.set(name, serves)
    this.#health.setStatus(name, serves ? 'SERVING' : 'NOT_SERVING')
  }
}
