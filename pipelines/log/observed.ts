import type { EventLog, Topic } from './port.js'

export interface LogObserver {
  /** A batch was appended, `seconds` after it was handed over. */
  appended(topic: Topic, events: number, seconds: number): void
}

/** The same log, each of whose appends is reported. */
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
    committed: (topic, consumer) => log.committed(topic, consumer),
    commit: (topic, consumer, position) => log.commit(topic, consumer, position),
    wait: (topic, position, timeoutMs, signal) => log.wait(topic, position, timeoutMs, signal),
    lead: (consumer, signal) => log.lead(consumer, signal),
    close: () => log.close(),
  }
}
