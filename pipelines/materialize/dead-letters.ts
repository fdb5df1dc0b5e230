import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { DeadLetterSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { type EventLog, PARTITION } from '../log/port.js'
import { LogShrank, type PoisonEvent } from './poison.js'

const READ_AT_ONCE = 1000

/**
 * Lays an event aside, as the operator wants it. Delivery: at least once.
 * @throws LogShrank where it is not there any more.
 */
export async function writeAside(log: EventLog, { topic, position, reason }: PoisonEvent): Promise<void> {
  const [record] = await log.read(topic, position, 1)
  if (record?.position !== position)
    throw new LogShrank(`position ${String(position)} of topic ${topic} is gone`)
  const { value, time } = record
  const letter = {
    topic,
    partition: PARTITION,
    reason,
    value,
    position: BigInt(position),
    timeMs: BigInt(time),
  }
  await log.append('dead-letters', [toBinary(DeadLetterSchema, create(DeadLetterSchema, letter))])
}

/** Positions of topic `chain` that were laid aside: whoever folds it leaves them out, now and in every replay. */
export async function readAside(log: EventLog): Promise<ReadonlySet<number>> {
  const aside = new Set<number>()
  for (let next = await log.first('dead-letters'); ;) {
    const records = await log.read('dead-letters', next, READ_AT_ONCE)
    const last = records.at(-1)
    if (last === undefined) return aside
    for (const { value } of records) aside.add(Number(fromBinary(DeadLetterSchema, value).position))
    next = last.position + 1
  }
}
