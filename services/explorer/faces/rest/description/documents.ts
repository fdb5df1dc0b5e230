import { JSON_ENCODING } from '../../../core/answering/encoding.js'
import { JSON_TYPE } from '../../../http/answer.js'
import { Resource } from '../../../http/resource.js'
import type { Read } from '../../../core/reads/read.js'
import { type ChainState, hasDilithium } from '../../../core/state/state.js'
import { asyncApi } from './asyncapi.js'
import { readExamples } from './examples.js'
import { type Described, openApi } from './openapi.js'

const HEADERS = [JSON_TYPE, ['vary', 'accept-encoding'], ['cache-control', 'no-cache']] as const

/** The descriptions of the API for the chain that the explorer follows, made at their first request. */
export class Documents {
  readonly #made = new Map<string, Resource>()

  /**
   * @param chain returns the state of the chain.
   * @param enabled what the operator has configured.
   */
  constructor(
    private readonly reads: readonly Read[],
    private readonly chain: () => Pick<ChainState, 'network'>,
    private readonly enabled: Pick<Described, 'hasToken' | 'hasBroadcast' | 'basePath'>,
  ) {}

  /** Returns OpenAPI 3.1 for REST, or AsyncAPI 3.0 for the WebSocket feed. */
  of(name: 'openapi' | 'asyncapi'): Resource {
    const isOfDilithium = hasDilithium(this.chain())
    const key = `${name} ${String(isOfDilithium)}`
    const cached = this.#made.get(key)
    if (cached !== undefined) return cached
    const { reads, enabled } = this
    const document =
      name === 'asyncapi'
        ? asyncApi(isOfDilithium, enabled.basePath)
        : // The examples are of the Dilithium chain: their addresses exist on no other.
          openApi({
            reads,
            examples: isOfDilithium ? readExamples() : {},
            hasDilithium: isOfDilithium,
            ...enabled,
          })
    const { body, etag } = JSON_ENCODING.encode(document)
    const resource = new Resource(body, HEADERS, etag)
    this.#made.set(key, resource)
    return resource
  }
}
