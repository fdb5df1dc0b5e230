/**
 * Protections that can be removed from the materializer, and the fault that must then show a difference in the round
 * in which it occurs, for every seed: a suite that cannot fail tests nothing.
 */
export const CONTROLS = {
  /** Inserts heads and blocks regardless of the last writer; no writer is superseded. */
  fence: ['materializer frozen amid an insert'],
  /** Accepts every event of the log as new, regardless of its epoch and sequence number. */
  duplicates: ['late poller'],
  /** Writes no recent blocks again on start. */
  repair: ['power cut'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Control = keyof typeof CONTROLS

export const isControl = (name: string): name is Control => name in CONTROLS
