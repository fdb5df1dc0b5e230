import { isDefect } from '../../../../pipelines/errors.js'
import type { Logger } from '../../../../pipelines/logger.js'
import { pause } from '../../../../pipelines/pause.js'
import { TableMissing } from '../../../../pipelines/tables/clickhouse.js'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
const LOG_EVERY_MS = 10_000

/** The receivers of failures. */
export interface RetryReport {
  readonly logger: Logger
  /** Called at each failure that is a defect, which waiting does not fix. */
  readonly onDefect?: (() => void) | undefined
}

/**
 * Repeats an attempt until it succeeds, for operations that fail while a server is unreachable. A defect is retried too, because
 * the rest of the explorer can continue, but it is logged as an error.
 * @param what a description of what is read, for the log.
 * @returns undefined if the signal aborts first.
 */
export async function retrying<T>(
  what: string,
  attempt: () => Promise<T>,
  { logger, onDefect }: RetryReport,
  signal: AbortSignal,
): Promise<T | undefined> {
  let loggedAt = Number.NEGATIVE_INFINITY
  for (let wait = FIRST_PAUSE_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt()
    } catch (error) {
      const isOurs = isDefect(error) && !(error instanceof TableMissing)
      if (isOurs) onDefect?.()
      if (Date.now() - loggedAt >= LOG_EVERY_MS) {
        if (error instanceof TableMissing)
          logger.info({ code: error.code, what, missing: error.message }, 'not available yet, retrying')
        else if (isOurs) logger.error({ err: error, what }, 'internal error, retrying')
        else logger.warn({ err: error, what }, 'cannot be read, retrying')
        loggedAt = Date.now()
      }
      await pause(wait, signal)
    }
  }
  return undefined
}
