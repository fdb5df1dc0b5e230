import { pause } from '../../pipelines/pause.js'
import type { Logger } from '../../pipelines/logger.js'
import { DatabaseUnavailable } from '../../pipelines/tables/clickhouse.js'

const PAUSE_MS = 1_000

export interface Waiting {
  readonly logger: Logger
  readonly signal: AbortSignal
  readonly onFailure: (error: unknown) => void
}

/** Repeats a query until the database is available. @returns undefined if the signal aborts first. @throws any other error of the query. */
export async function whenAnswered<T>(
  query: () => Promise<T>,
  { logger, signal, onFailure }: Waiting,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await query()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      onFailure(error)
      logger.warn({ err: error }, 'database unreachable, retrying')
      await pause(PAUSE_MS, signal)
    }
  }
  return undefined
}
