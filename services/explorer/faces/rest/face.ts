import type { Core } from '../../core/core.js'
import type { Read } from '../../core/reads/read.js'
import { API, errorAnswer, failedAsJson, GET, keptRequest, POST } from '../../http/answer.js'
import { argumentsOf, BAD_BODY, MAX_READ_BODY } from '../../http/body.js'
import type { ReadAnswers } from '../../http/read-answers.js'
import type { HandlerRoute, HttpFace, Route } from '../face.js'
import { broadcastRoute } from './broadcast.js'
import type { Documents } from './description/documents.js'
import { historyRoute } from './history-csv.js'

interface RestParts {
  readonly core: Core
  readonly answers: ReadAnswers
  readonly documents: Documents
}

/** Returns the face of the declared reads as JSON below /api/v1, with their description. */
export function restFace({ core, answers, documents }: RestParts): HttpFace {
  const reads = core.reads.map((read): Route =>
    read.method === 'POST'
      ? readOfBody(read, answers)
      : { pattern: API + read.path, methods: GET, isLimited: true, read },
  )
  const descriptions = (['openapi', 'asyncapi'] as const).map((name): HandlerRoute => {
    const handle: HandlerRoute['handle'] = (request) => documents.of(name).answer(request)
    return { pattern: `/${name}.json`, methods: GET, isLimited: false, handle }
  })
  return {
    prefix: API,
    routes: [...reads, historyRoute(core), broadcastRoute(core.commands), ...descriptions],
    failed: failedAsJson,
  }
}

/** Returns the route of a read whose arguments are in the body. */
function readOfBody(read: Read, answers: ReadAnswers): HandlerRoute {
  return {
    pattern: API + read.path,
    methods: POST,
    isLimited: true,
    maxBodyBytes: MAX_READ_BODY,
    handle: async (request) => {
      const copy = keptRequest(request)
      const body = await request.body(MAX_READ_BODY)
      if (body === undefined) return errorAnswer('HW_BODY_TOO_LARGE', 'Body too large')
      const argument = argumentsOf(body)
      if (argument === undefined) return errorAnswer('HW_INVALID_ARGUMENT', BAD_BODY)
      return answers.answer(copy, { read, argument, failed: failedAsJson })
    },
  }
}
