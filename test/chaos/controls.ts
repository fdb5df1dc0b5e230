/**
 * Protections that can be taken out of the materializer, and the fault that must then show in the round in which it strikes,
 * whatever the seed: a suite that cannot fail tests nothing.
 */
export const CONTROLS = {
  /** Heads and blocks are inserted whoever wrote last, and nobody takes over. */
  fence: ['materializer frozen amid an insert'],
  /** Every event of the log is taken as new, whatever its epoch and number. */
  duplicates: ['late poller'],
  /** A start writes nothing again. */
  repair: ['power cut'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Control = keyof typeof CONTROLS

export const isControl = (name: string): name is Control => name in CONTROLS
