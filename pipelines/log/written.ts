/** The number of an event: the epoch of its writer, which each start increases, and the sequence number within it, from 0. */
export interface Written {
  readonly epoch: number
  readonly sequence: bigint
}

/** Returns whether an event was written after another. Their positions do not show that: a retry is appended late. */
export function isAfter(event: Written, other: Written): boolean {
  return event.epoch === other.epoch ? event.sequence > other.sequence : event.epoch > other.epoch
}
