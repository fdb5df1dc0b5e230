import type { Core } from '../../core/core.js'
import { hasDilithium } from '../../core/state/state.js'
import { failedAsJson } from '../../http/answer.js'
import type { HttpFace } from '../face.js'
import { GraphqlEndpoint, MAX_BODY_BYTES } from './endpoint.js'
import { graphiqlRoutes } from './graphiql.js'
import { Operations } from './operation.js'
import { schemaOf } from './schema.js'
import { subscriptionProtocol } from './sockets.js'

/** Returns the face of the reads and channels as a schema of GraphQL, at /graphql. @param basePath the path below which clients reach it. */
export function graphqlFace(core: Core, basePath?: string): HttpFace {
  const made = new Map<boolean, Operations>()
  // The chain may be known only after the start, and then has another schema.
  const operations = (): Operations => {
    const isOfDilithium = hasDilithium(core.reader.chain)
    const known = made.get(isOfDilithium) ?? new Operations(schemaOf(core.reads, isOfDilithium), core.reads)
    made.set(isOfDilithium, known)
    return known
  }
  const endpoint = new GraphqlEndpoint(operations, core.reader, basePath)
  return {
    routes: [
      {
        pattern: '/graphql',
        methods: 'GET, HEAD, POST, OPTIONS',
        isLimited: true,
        maxBodyBytes: MAX_BODY_BYTES,
        handle: (request) => endpoint.answer(request),
      },
      ...graphiqlRoutes(),
    ],
    failed: failedAsJson,
    sockets: [subscriptionProtocol(operations, core)],
  }
}
