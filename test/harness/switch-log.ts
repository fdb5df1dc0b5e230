import { type EventLog, type LogRecord, type Topic } from '../../pipelines/log/port.js'

/** A log that can be replaced by another one under the processes that use it. */
export class SwitchLog implements EventLog {
  constructor(public log: EventLog) {}

  append(topic: Topic, values: readonly Uint8Array[]): Promise<number> {
    return this.log.append(topic, values)
  }
  read(topic: Topic, position: number, limit: number, maxBytes?: number): Promise<LogRecord[]> {
    return this.log.read(topic, position, limit, maxBytes)
  }
  last(topic: Topic): Promise<number> {
    return this.log.last(topic)
  }
  first(topic: Topic): Promise<number> {
    return this.log.first(topic)
  }
  drop(topic: Topic, before: number): Promise<void> {
    return this.log.drop(topic, before)
  }
  committed(topic: Topic, consumer: string): Promise<number> {
    return this.log.committed(topic, consumer)
  }
  commit(topic: Topic, consumer: string, position: number): Promise<void> {
    return this.log.commit(topic, consumer, position)
  }
  wait(topic: Topic, position: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.log.wait(topic, position, timeoutMs, signal)
  }
  lead(consumer: string, signal: AbortSignal): ReturnType<EventLog['lead']> {
    return this.log.lead(consumer, signal)
  }
  close(): Promise<void> {
    return this.log.close()
  }
}

/** Hides the events of topic `chain` before a position, as retention does. */
export class WithoutBeginning extends SwitchLog {
  constructor(
    log: EventLog,
    private readonly begin: number,
  ) {
    super(log)
  }

  override async read(
    topic: Topic,
    position: number,
    limit: number,
    maxBytes?: number,
  ): Promise<LogRecord[]> {
    return super.read(topic, topic === 'chain' ? Math.max(position, this.begin) : position, limit, maxBytes)
  }
  override async first(topic: Topic): Promise<number> {
    return topic === 'chain' ? Math.max(await super.first(topic), this.begin) : super.first(topic)
  }
}

export async function valuesOf(log: EventLog, topic: Topic): Promise<Uint8Array[]> {
  const values: Uint8Array[] = []
  for (let next = 0; ;) {
    const records = await log.read(topic, next, 1000)
    const last = records.at(-1)
    if (last === undefined) return values
    values.push(...records.map(({ value }) => Uint8Array.from(value)))
    next = last.position + 1
  }
}

/** Copies the topics of a log into an empty one, with the given events as topic `chain`. */
export async function copyLog(
  from: EventLog,
  to: EventLog,
  chain: readonly Uint8Array[],
  others: readonly Topic[],
): Promise<void> {
  if (chain.length > 0) await to.append('chain', chain)
  for (const topic of others) {
    const values = await valuesOf(from, topic)
    if (values.length > 0) await to.append(topic, values)
  }
}
