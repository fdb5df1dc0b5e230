import { setTimeout as sleep } from 'node:timers/promises'
import { isDefect } from '../../../pipelines/errors.js'
import type { Logger } from '../../../pipelines/logger.js'
import type { EventLog, Topic } from '../../../pipelines/log/port.js'
import { NotThere } from '../../../pipelines/tables/clickhouse.js'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
const SAY_AGAIN_MS = 10_000

/** Waits, not longer than until the signal aborts; does not throw. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** Who is told of failures. */
export interface RetryReport {
  readonly logger: Logger
  /** Called at each failure that is an error of our own, which no waiting helps. */
  readonly onDefect?: (() => void) | undefined
}

/**
 * Does what may fail as long as a server is away until it succeeds. An error of our own is tried again too, since the rest of
 * the explorer can go on, but never in silence.
 * @param what is read, in words. @returns undefined when the signal aborts first.
 */
export async function retrying<T>(
  what: string,
  attempt: () => Promise<T>,
  { logger, onDefect }: RetryReport,
  signal: AbortSignal,
): Promise<T | undefined> {
  let saidAt = Number.NEGATIVE_INFINITY
  for (let wait = FIRST_PAUSE_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt()
    } catch (error) {
      const isOurs = isDefect(error) && !(error instanceof NotThere)
      if (isOurs) onDefect?.()
      if (Date.now() - saidAt >= SAY_AGAIN_MS) {
        if (error instanceof NotThere)
          logger.info({ code: error.code, what, missing: error.message }, 'not available yet, retrying')
        else if (isOurs) logger.error({ err: error, what }, 'internal error, retrying')
        else logger.warn({ err: error, what }, 'cannot be read, retrying')
        saidAt = Date.now()
      }
      await pause(wait, signal)
    }
  }
  return undefined
}

/** Returns whether a topic ends before an event that is awaited: another log was put in its place. */
export async function endsBefore(log: EventLog, topic: Topic, next: number): Promise<boolean> {
  const last = await log.last(topic).catch(() => next)
  return last + 1 < next
}
