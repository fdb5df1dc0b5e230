import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../pipelines/logger.js'

const REMIND_MS = 30_000

interface Standing {
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Tells the explorers, whose /health says it. */
  readonly tell: () => Promise<void>
}

/**
 * Stays alive and stopped, saying why: starting again would meet the same event, and the operator has to decide. No
 * heartbeat is passed on meanwhile, so that `indexerStatus` becomes `stalled`.
 */
export async function standStill(why: Error, { logger, signal, tell }: Standing): Promise<void> {
  while (!signal.aborted) {
    logger.error({ why: why.name }, `stopped, and stays so: ${why.message}`)
    await tell().catch((error: unknown) => {
      logger.warn({ err: error }, 'the explorers cannot be told')
    })
    await sleep(REMIND_MS, undefined, { signal }).catch(() => undefined)
  }
}
