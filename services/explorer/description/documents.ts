import { type Encoded, JSON_ENCODING } from '../answering/encoding.js'
import type { Read } from '../reads/read.js'
import { asyncApi } from './asyncapi.js'
import { readExamples } from './examples.js'
import { type Described, openApi } from './openapi.js'

/** The descriptions of the API, made at their first request. */
export class Documents {
  readonly #made = new Map<'openapi' | 'asyncapi', Encoded>()

  /** @param enabled what the operator has configured. */
  constructor(
    private readonly reads: readonly Read[],
    private readonly enabled: Pick<Described, 'hasToken' | 'hasBroadcast'>,
  ) {}

  /** Returns OpenAPI 3.1 for REST, or AsyncAPI 3.0 for the WebSocket feed. */
  of(name: 'openapi' | 'asyncapi'): Encoded {
    const made = this.#made.get(name)
    if (made !== undefined) return made
    const { reads, enabled } = this
    const document =
      name === 'asyncapi' ? asyncApi() : openApi({ reads, examples: readExamples(), ...enabled })
    const encoded = JSON_ENCODING.encode(document)
    this.#made.set(name, encoded)
    return encoded
  }
}
