import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf'
import type { Logger } from '../logger.js'
import type { EventLog, LogRecord, Topic } from './port.js'

type Readable = Pick<EventLog, 'read' | 'first'>

const READ_AT_ONCE = 256

/** Reads the records of a topic from a position on, in order: to the last one there is, or to one that is included. */
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
 * Reads a topic backwards from a position that is included: the newest batch of records first, each batch in order.
 * @param keep what to keep of a record, undefined for nothing: a batch of blocks may be large.
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
      const kept = keep(record)
      if (kept !== undefined) batch.push(kept)
    }
    yield batch
  }
}

/**
 * Returns the message that a record holds; undefined for bytes that are none, which no reader stops for.
 * @param report where these are logged.
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
