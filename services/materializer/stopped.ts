import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../pipelines/logger.js'
import type { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'

const REMIND_MS = 30_000
const LOOK_MS = 1_000

interface StoppedOptions {
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Tells the explorers, whose /health says it. */
  readonly report: () => Promise<void>
  /** Another database that may take the place of the one at which it stopped. */
  readonly successor: () => Promise<string | undefined>
}

/**
 * Stays alive and stopped, saying why: starting again would meet the same event, and the operator has to decide. No
 * heartbeat is passed on meanwhile, so that `indexerStatus` becomes `stalled`.
 * @returns a database that took the place of the one at which it stopped; nothing when the signal aborts.
 */
export async function waitStopped(
  why: PoisonEvent | LogShrank,
  { logger, signal, report, successor }: StoppedOptions,
): Promise<string | undefined> {
  for (let waited = 0; !signal.aborted; waited += LOOK_MS) {
    if (waited % REMIND_MS === 0) {
      logger.error({ code: why.code }, `stopped until an operator acts: ${why.message}`)
      await report().catch((error: unknown) => {
        logger.warn({ err: error }, 'cannot report this to the explorers')
      })
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined)
    const next = await successor().catch(() => undefined)
    if (next !== undefined) return next
  }
  return undefined
}
