import { pause } from '../../pipelines/pause.js'
import type { Logger } from '../../pipelines/logger.js'
import type { LogShrank, PoisonEvent } from '../../pipelines/materialize/poison.js'

const REMIND_MS = 30_000
const LOOK_MS = 1_000

interface StoppedOptions {
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Reports the reason to the explorers, which return it in `/health`. */
  readonly report: () => Promise<void>
  /** Returns the name of the database to which the stopped one has handed over, if any. */
  readonly successor: () => Promise<string | undefined>
}

/**
 * Waits without applying events and reports the reason every 30 seconds: a restart would find the invalid event again, and the
 * operator has to decide. No heartbeat is applied meanwhile, so `indexerStatus` becomes `stalled`.
 * @returns the name of the successor if the database hands over, undefined if the signal aborts.
 */
export async function waitStopped(
  why: PoisonEvent | LogShrank,
  { logger, signal, report, successor }: StoppedOptions,
): Promise<string | undefined> {
  for (let waitedMs = 0; !signal.aborted; waitedMs += LOOK_MS) {
    if (waitedMs % REMIND_MS === 0) {
      logger.error({ code: why.code }, `stopped until an operator acts: ${why.message}`)
      await report().catch((error: unknown) => {
        logger.warn({ err: error }, 'cannot report this to the explorers')
      })
    }
    await pause(LOOK_MS, signal)
    const next = await successor().catch(() => undefined)
    if (next !== undefined) return next
  }
  return undefined
}
