import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf'
import type { Logger } from '../logger.js'
import type { EventLog, LogRecord, Topic } from './port.js'

type Readable = Pick<EventLog, 'read' | 'first'>

const READ_AT_ONCE = 256

/** Reads the records of a topic in order, from one position to another, both inclusive; by default to the end of the topic. */
export async function* recordsOf(
  log: Pick<Readable, 'read'>,
  topic: Topic,
  from: number,
  to = Number.POSITIVE_INFINITY,
  atOnce = READ_AT_ONCE,
): AsyncGenerator<LogRecord> {
  for (let next = from; next <= to;) {
    const records = await log.read(topic, next, Math.min(atOnce, to - next + 1))
    const last = records.at(-1)
    if (last === undefined) return
    for (const record of records) if (record.position <= to) yield record
    next = last.position + 1
  }
}

/**
 * Reads a topic backwards from a position, inclusive: the newest batch of records first, each batch in ascending order.
 * @param keep returns the part of a record to keep, because a batch of blocks may be large; undefined to skip the record.
 */
export async function* batchesBack<T>(
  log: Readable,
  topic: Topic,
  from: number,
  keep: (record: LogRecord) => T | undefined,
  { atOnce = READ_AT_ONCE, downTo = 0 } = {},
): AsyncGenerator<T[]> {
  const first = Math.max(downTo, await log.first(topic))
  for (let end = from; end >= first; end -= atOnce) {
    const batch: T[] = []
    for await (const record of recordsOf(log, topic, Math.max(first, end - atOnce + 1), end, atOnce)) {
      const value = keep(record)
      if (value !== undefined) batch.push(value)
    }
    yield batch
  }
}

/**
 * Decodes the message of a record. Returns undefined for bytes that cannot be decoded: readers skip them.
 * @param report the logger and the topic to name in the log; without it, invalid records are not logged.
 */
export function messageIn<T extends DescMessage>(
  schema: T,
  { position, value }: LogRecord,
  report?: { readonly logger: Logger; readonly topic: Topic },
): MessageShape<T> | undefined {
  try {
    return fromBinary(schema, value)
  } catch (error) {
    report?.logger.error(
      { err: error, topic: report.topic, position },
      'event ignored: its bytes cannot be decoded',
    )
    return undefined
  }
}
