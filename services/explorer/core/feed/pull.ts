/** A message of a subscription. */
export interface FeedMessage {
  /** The number of the event; of a resync, the number of the last event that was missed. */
  readonly seq: number
  /** The data of an event. Undefined for a resync: events were missed that cannot be sent again, so the state must be read again. */
  readonly data: object | undefined
}

/** The messages that a client has not received yet. */
export interface Source<M> {
  /** Returns the next messages, which are then taken; none if there are none now. */
  take(): readonly M[]
  /** Resolves when there may be messages, or when the signal of the subscription aborts. */
  changed(): Promise<void>
}

/**
 * Yields the messages of a source as the client takes them, until the signal aborts.
 * @param begin resolves when the first may be taken. Not set: at once.
 */
export async function* pulled<M>(
  source: Source<M>,
  signal: AbortSignal,
  begin?: Promise<void>,
): AsyncGenerator<M, void> {
  await begin
  while (!signal.aborted) {
    const messages = source.take()
    if (messages.length === 0) await source.changed()
    else yield* messages
  }
}

/** The maximum time that a subscription waits for events that the client has already received from another process. */
export const BEHIND_WAIT_MS = 2_000
