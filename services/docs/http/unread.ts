import type { Content } from '../../../pipelines/content/store.js'
import { Refusal } from './reply.js'
import type { Handler } from './server.js'

/** The longest time after which clients are asked to try again, in seconds. */
const MAX_RETRY_SECONDS = 30

/** The message of answers that would be incomplete. */
export const BEING_READ = 'Pages are being read'

/** Returns the header of answers that would be incomplete: when to try again, about when all pages are read. */
export function retryAfter({ progress }: Content): { 'retry-after': string } {
  return { 'retry-after': String(Math.min(MAX_RETRY_SECONDS, Math.max(1, progress.secondsLeft ?? 1))) }
}

/**
 * Asserts that all pages are read. During the first read a list would be incomplete, and a page that is not found may exist.
 * @throws Refusal 503 with the progress.
 */
export function requireRead(content: Content): void {
  if (content.isComplete) return
  const { done, total } = content.progress
  throw new Refusal('HW_NOT_READY', BEING_READ, retryAfter(content), { pages_read: done, pages_total: total })
}

/** Returns a handler that is called only when all pages are read. */
export function whenRead(content: Content, handler: Handler): Handler {
  return (incoming) => {
    requireRead(content)
    return handler(incoming)
  }
}
