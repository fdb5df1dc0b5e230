import type { Server, ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'

interface HealthRequest {
  readonly service: string
}

/** `grpc.health.v1`: the status of each service of a server, and of the server itself under the empty name. */
export class HealthService {
  readonly #serving: Map<string, boolean>
  readonly #health: HealthImplementation

  /** @param names the services, which all start as NOT_SERVING. */
  constructor(names: readonly string[]) {
    this.#serving = new Map(['', ...names].map((name) => [name, false]))
    this.#health = new HealthImplementation(
      Object.fromEntries([...this.#serving.keys()].map((name) => [name, 'NOT_SERVING'])),
    )
  }

  /** Sets the status of a service. The server itself is SERVING while all its services are. @throws for an unknown service. */
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
          // The library stores each name that was ever watched, so clients could fill the memory with unknown names.
          watch: (call: ServerWritableStream<HealthRequest, object>) => {
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
