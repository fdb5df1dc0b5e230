import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type DeadLetter, DeadLetterSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { type EventLog, PARTITION } from '../log/port.js'
import { recordsOf } from '../log/records.js'
import { LogShrank, PoisonEvent } from './poison.js'

/**
 * Sends an event to topic `dead-letters`. Delivery: at least once.
 * @throws LogShrank if the log no longer contains the event.
 */
export async function writeDeadLetter(
  log: EventLog,
  { topic, position, reason }: PoisonEvent,
): Promise<void> {
  const [record] = await log.read(topic, position, 1)
  if (record?.position !== position)
    throw new LogShrank(`position ${String(position)} of topic ${topic} no longer exists`)
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

/**
 * Returns the positions of dead-lettered events of topic `chain`. They are skipped, now and in every replay.
 * @throws PoisonEvent for a record that is not a dead letter, unless it was dead-lettered itself.
 */
export async function readDeadLetters(log: EventLog): Promise<ReadonlySet<number>> {
  const deadLettered = { chain: new Set<number>(), 'dead-letters': new Set<number>() }
  const unreadable: PoisonEvent[] = []
  for await (const { position, value } of recordsOf(log, 'dead-letters', await log.first('dead-letters'))) {
    const letter = decode(position, value)
    if (letter instanceof PoisonEvent) unreadable.push(letter)
    else if (letter.topic === 'chain' || letter.topic === 'dead-letters')
      deadLettered[letter.topic].add(Number(letter.position))
  }
  const poison = unreadable.find(({ position }) => !deadLettered['dead-letters'].has(position))
  if (poison !== undefined) throw poison
  return deadLettered.chain
}

function decode(position: number, value: Uint8Array): DeadLetter | PoisonEvent {
  try {
    return fromBinary(DeadLetterSchema, value)
  } catch (error) {
    return new PoisonEvent('dead-letters', position, `cannot be decoded: ${String(error)}`)
  }
}
