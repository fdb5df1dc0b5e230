import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../pipelines/logger.js'

const REMIND_MS = 30_000

/**
 * Stays alive and stopped, saying why: starting again would meet the same event, and the operator has to decide. No
 * heartbeat is passed on meanwhile, so that `indexerStatus` becomes `stalled`.
 */
export async function standStill(why: Error, logger: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    logger.error({ why: why.name }, `stopped, and stays so: ${why.message}`)
    await sleep(REMIND_MS, undefined, { signal }).catch(() => undefined)
  }
}
