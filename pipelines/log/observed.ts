import type { EventLog, Topic } from './port.js'

export interface LogObserver {
  /** Called when a batch was appended, which took `seconds`. */
  appended(topic: Topic, events: number, seconds: number): void
}

/** Returns a log that reports its appends to an observer. */
export function observedLog(log: EventLog, observer: LogObserver): EventLog {
  return {
    append: async (topic, values) => {
      const beganAt = performance.now()
      const position = await log.append(topic, values)
      observer.appended(topic, values.length, (performance.now() - beganAt) / 1000)
      return position
    },
    read: (topic, position, limit, maxBytes) => log.read(topic, position, limit, maxBytes),
    last: (topic) => log.last(topic),
    first: (topic) => log.first(topic),
    drop: (topic, before) => log.drop(topic, before),
    committed: (topic, consumer) => log.committed(topic, consumer),
    commit: (topic, consumer, position) => log.commit(topic, consumer, position),
    wait: (topic, position, timeoutMs, signal) => log.wait(topic, position, timeoutMs, signal),
    lead: (consumer, signal) => log.lead(consumer, signal),
    close: () => log.close(),
  }
}
