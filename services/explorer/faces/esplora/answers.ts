import { HTTP_STATUS } from '../../../../pipelines/errors.js'
import type { Failure } from '../../core/answering/failure.js'
import { type Answer, chainHeaders, type Headers, NO_STORE, retryHeaders } from '../../http/answer.js'

/** Returns an answer of plain text that no cache keeps. */
export function textAnswer(status: number, text: string, headers: Headers = []): Answer {
  return {
    status,
    headers: [['content-type', 'text/plain'], NO_STORE, ...headers],
    body: Buffer.from(text),
  }
}

/** The milliseconds after which a client repeats the request of a page whose beginning has left the chain. */
const REPEAT_MS = 1_000

/** Returns the answer for a failure: its text alone, as the reference server answers. */
export function failedAsText(failure: Failure): Answer {
  const isOutdated = failure.code === 'HW_CURSOR_OUTDATED'
  const status = isOutdated ? 503 : HTTP_STATUS[failure.code]
  const retry = isOutdated ? { ...failure, retryMs: REPEAT_MS } : failure
  const headers = [
    ...(failure.chain === undefined ? [] : chainHeaders(failure.chain)),
    ...retryHeaders(retry),
  ]
  const answer = textAnswer(status, failure.message, headers)
  return status === 503 ? { ...answer, code: failure.code } : answer
}
