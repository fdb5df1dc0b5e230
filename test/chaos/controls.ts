/**
 * Protections that can be removed from the materializer or the explorer, and the fault that must then show a
 * difference in the round in which it occurs, for every seed: a suite that cannot fail tests nothing.
 */
export const CONTROLS = {
  /**
   * Inserts heads and blocks regardless of the last writer; no writer is superseded. Reads that select rows in SQL
   * then show those of a block that was written too late to be known as stale.
   */
  fence: ['materializer frozen amid an insert'],
  /** Takes each row that a point read finds as one of the chain: such reads rely on nothing else. */
  tags: ['materializer frozen amid an insert'],
  /** Accepts every event of the log as new, regardless of its epoch and sequence number. */
  duplicates: ['late poller'],
  /** Writes no recent blocks again on start. */
  repair: ['power cut'],
  /** Sends wallets no changes of the scripts to which they have subscribed. */
  notifications: ['poller killed'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Control = keyof typeof CONTROLS

/** Returns the process from which a protection is removed. */
export const unprotectedService = (control: Control): 'explorer' | 'materializer' =>
  control === 'tags' || control === 'notifications' ? 'explorer' : 'materializer'

export const isControl = (name: string): name is Control => name in CONTROLS
