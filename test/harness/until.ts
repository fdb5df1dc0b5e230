import { setTimeout as sleep } from 'node:timers/promises'

/** A look often costs more than the wait: pauses grow, so that those who wait do not take the processor from what they wait for. */
const PAUSES = { firstMs: 5, growth: 1.25, longestMs: 50 }

/**
 * Ends a test that hangs; it is no limit on speed: a starved machine takes ten times as long. Shorter than the
 * timeout of a test, so that the error names the condition.
 */
export const PATIENCE_MS = 300_000

/**
 * Polls a condition, at growing intervals, instead of sleeping for a guessed time.
 * @throws Error naming the condition, with the last value seen, if it takes too long.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = PATIENCE_MS,
): Promise<T> {
  const end = Date.now() + timeoutMs
  let failure: unknown
  for (let pauseMs = PAUSES.firstMs; ; pauseMs = Math.min(pauseMs * PAUSES.growth, PAUSES.longestMs)) {
    try {
      const value = await look()
      if (value !== undefined && value !== false) return value
    } catch (error) {
      failure = error
    }
    if (Date.now() > end)
      throw new Error(`waited ${String(timeoutMs)} ms in vain: ${what}`, { cause: failure })
    await sleep(pauseMs)
  }
}
