import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { Guard } from './guard.js'
import type { Hook } from '../hooks.js'
import { signedHeaders } from './signature.js'
import type { Delivery } from '../store.js'

/** The time for one attempt, from resolving the name to the end of the answer. */
const TIMEOUT_MS = 15_000
/** The bytes of an answer that are read, so that a small one ends its connection in order. */
const MAX_ANSWER_BYTES = 16 * 1024
const USER_AGENT = 'Headwater-Webhooks'

/** The outcome of one attempt. */
export type Outcome =
  | { readonly kind: 'delivered' }
  /** The receiver has answered 410: it wants no more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: string }

/** Sends a delivery once. Never rejects. */
export type Send = (hook: Hook, delivery: Delivery, signal: AbortSignal) => Promise<Outcome>

/** Returns a function that sends deliveries over HTTP. Redirects are not followed: they could lead anywhere. */
export function senderFor(guard: Guard, timeoutMs = TIMEOUT_MS): Send {
  return async (hook, { id, body }, signal) => {
    const url = new URL(hook.url)
    const isEncrypted = url.protocol === 'https:'
    const options: RequestOptions = {
      method: 'POST',
      // A connection of its own for each attempt: one that is kept may have been closed by the receiver.
      agent: false,
      lookup: guard.lookup(isEncrypted),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': USER_AGENT,
        ...signedHeaders({ id, body }, hook.secrets, Date.now()),
      },
    }
    try {
      const host = url.hostname.replace(/^\[|\]$/g, '')
      // Node does not look up an address.
      if (isIP(host) !== 0) guard.assertAllowed(host, isEncrypted)
      const status = await post(url, options, body)
      if (status >= 200 && status < 300) return { kind: 'delivered' }
      return status === 410 ? { kind: 'gone' } : { kind: 'failed', error: `answered ${String(status)}` }
    } catch (error) {
      return { kind: 'failed', error: reasonOf(error, timeoutMs) }
    }
  }
}

/** Sends a request. @returns the status of the answer, whatever happens after its headers. */
function post(url: URL, options: RequestOptions, body: string): Promise<number> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (answer) => {
      // From here on the outcome is known; the timeout may still end the request.
      sent.off('error', reject).on('error', () => undefined)
      void drain(answer).finally(() => {
        sent.destroy()
        resolve(answer.statusCode ?? 0)
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Reads an answer to its end, or to the limit. */
async function drain(answer: IncomingMessage): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of answer) {
      bytes += (chunk as Buffer).length
      if (bytes > MAX_ANSWER_BYTES) return
    }
  } catch {
    // The status was received.
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'AbortError' || error.name === 'TimeoutError')
    return `no answer within ${String(timeoutMs / 1000)} s`
  // An error of several attempts to connect has no message.
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}
