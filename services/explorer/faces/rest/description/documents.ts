import { JSON_ENCODING } from '../../../core/answering/encoding.js'
import { JSON_TYPE } from '../../../http/answer.js'
import { Resource } from '../../../http/resource.js'
import type { Read } from '../../../core/reads/read.js'
import { asyncApi } from './asyncapi.js'
import { readExamples } from './examples.js'
import { type Described, openApi } from './openapi.js'

const HEADERS = [JSON_TYPE, ['vary', 'accept-encoding'], ['cache-control', 'no-cache']] as const

/** The descriptions of the API, made at their first request. */
export class Documents {
  readonly #made = new Map<'openapi' | 'asyncapi', Resource>()

  /** @param enabled what the operator has configured. */
  constructor(
    private readonly reads: readonly Read[],
    private readonly enabled: Pick<Described, 'hasToken' | 'hasBroadcast' | 'basePath'>,
  ) {}

  /** Returns OpenAPI 3.1 for REST, or AsyncAPI 3.0 for the WebSocket feed. */
  of(name: 'openapi' | 'asyncapi'): Resource {
    const cached = this.#made.get(name)
    if (cached !== undefined) return cached
    const { reads, enabled } = this
    const document =
      name === 'asyncapi'
        ? asyncApi(enabled.basePath)
        : openApi({ reads, examples: readExamples(), ...enabled })
    const { body, etag } = JSON_ENCODING.encode(document)
    const resource = new Resource(body, HEADERS, etag)
    this.#made.set(name, resource)
    return resource
  }
}
