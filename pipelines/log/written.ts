/** How a writer numbers its events: by its start, and from 0 within it. */
export interface Written {
  readonly epoch: number
  readonly sequence: bigint
}

/** Whether an event was written after another one, wherever they are in the log: a retry comes late and is not newer. */
export function isAfter(event: Written, other: Written): boolean {
  return event.epoch === other.epoch ? event.sequence > other.sequence : event.epoch > other.epoch
}
