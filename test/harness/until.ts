import { setTimeout as sleep } from 'node:timers/promises'

/** Of what hangs, and no bound on speed: a starved machine takes ten times as long. Less than a test may take, so that it is named. */
const PATIENCE_MS = 300_000

/**
 * Waits for a condition, looking often; never a guessed sleep. Its end stops what hangs and is no bound on speed.
 * @throws Error naming what was waited for, with the last value seen.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = PATIENCE_MS,
): Promise<T> {
  const end = Date.now() + timeoutMs
  let failure: unknown
  for (;;) {
    try {
      const value = await look()
      if (value !== undefined && value !== false) return value
    } catch (error) {
      failure = error
    }
    if (Date.now() > end)
      throw new Error(`waited ${String(timeoutMs)} ms in vain: ${what}`, { cause: failure })
    await sleep(10)
  }
}
