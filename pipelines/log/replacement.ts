import type { EventLog, Topic } from './port.js'

/** Returns whether a topic ends before the position to read next: the log was replaced by another one. */
export async function endsBefore(log: EventLog, topic: Topic, next: number): Promise<boolean> {
  const last = await log.last(topic).catch(() => next)
  return last + 1 < next
}
