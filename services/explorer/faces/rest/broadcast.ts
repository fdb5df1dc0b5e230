import { overLimit } from '../../core/answering/failure.js'
import { sendTransaction } from '../../core/commands/send-transaction.js'
import type { Commands } from '../../core/core.js'
import {
  type Answer,
  API,
  errorAnswer,
  failedAsJson,
  jsonAnswer,
  NO_STORE,
  POST,
  type Request,
  unknownRoute,
} from '../../http/answer.js'
import { argumentsOf, BAD_TX_BODY, hexArgument, MAX_BODY } from '../../http/body.js'
import type { HandlerRoute } from '../face.js'

/** Returns the route that broadcasts a transaction. @param commands undefined if that is not allowed: the route is then unknown. */
export function broadcastRoute(commands: Commands | undefined): HandlerRoute {
  const route = { pattern: API + sendTransaction.path, isLimited: true }
  // 405 for POST, which the route of a transaction would return, would suggest that the route exists.
  if (commands === undefined) return { ...route, methods: `GET, HEAD, ${POST}`, handle: unknownRoute }
  return {
    ...route,
    methods: POST,
    maxBodyBytes: MAX_BODY,
    handle: (request) => broadcast(commands, request),
  }
}

async function broadcast({ limit, sendTransaction: send }: Commands, request: Request): Promise<Answer> {
  const taking = limit?.take(request.origin())
  const reading = typeof taking === 'number' ? undefined : request.body(MAX_BODY)
  const retryMs = await taking
  if (retryMs !== undefined && limit !== undefined) return failedAsJson(overLimit(retryMs, limit.policy))
  const body = await reading
  if (body === undefined) return errorAnswer('HW_BODY_TOO_LARGE', 'Body too large')
  const argument = argumentsOf(body) ?? hexArgument(body)
  if (argument === undefined) return errorAnswer('HW_INVALID_ARGUMENT', BAD_TX_BODY)
  return jsonAnswer(200, await send(argument), [NO_STORE])
}
