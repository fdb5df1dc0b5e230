import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeChainEvent, encodeChainEvent } from '../../pipelines/events/chain-event.js'
import type { EventLog, Topic } from '../../pipelines/log/port.js'
import {
  type ChainEvent,
  type NodeEvent,
  NodeEventSchema,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { Random } from '../../services/simnode/random.js'
import { until } from '../harness/until.js'
import type { Fault } from './fault.js'

/** Far enough back to meet an event that this suite did not write itself. */
const LOOK_BACK = 100
const LATE_EVENTS = 8
const TOPICS: readonly Topic[] = ['chain', 'node', 'committed']

/** The brokers may still be electing a leader after an earlier fault. */
async function persistently(attempt: () => Promise<void>): Promise<void> {
  await until('the log can be read and written', () => attempt().then(() => true))
}

async function newest(log: EventLog, topic: Topic, count: number): Promise<Uint8Array[]> {
  const last = await log.last(topic)
  const records = await log.read(topic, Math.max(0, last - count + 1), count)
  return records.map(({ value }) => Buffer.from(value))
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const keys = new Map(list.map((each) => [each, random.fraction()]))
  return [...list].sort((one, other) => (keys.get(one) ?? 0) - (keys.get(other) ?? 0))
}

/**
 * Appends records again that are in the log already, in order or not, as a producer's retry does if its first attempt
 * had arrived. A log returns its records in its own order, so "twice" and "out of order" can only mean this: an event
 * before its turn would be an event that was never written in its turn.
 */
const again = (name: string, order: (values: Uint8Array[], random: Random) => Uint8Array[]): Fault => ({
  name,
  async strike({ log }, random) {
    for (let times = 0; times < 4; times++) {
      const [topic, count] = [random.pick(TOPICS), 1 + random.below(12)]
      await persistently(async () => {
        const values = order(await newest(log, topic, count), random)
        if (values.length > 0) await log.append(topic, values)
      })
      await sleep(random.below(150))
    }
  },
})

/** Returns the newest events as the second newest poller would have written them, with valid checksums. */
function outdated<E extends ChainEvent | NodeEvent>(
  values: readonly Uint8Array[],
  decode: (value: Uint8Array) => E,
  encode: (event: E) => Uint8Array,
): Uint8Array[] {
  const events = values.map(decode)
  const newest = Math.max(...events.map(({ epoch }) => epoch))
  return events
    .filter(({ epoch }) => epoch === newest)
    .slice(-LATE_EVENTS)
    .map((event) => encode(Object.assign(event, { epoch: newest - 1, sequence: event.sequence + 1000n })))
}

/** Returns the newest events of topic `chain` as a superseded poller would have written them. */
export const outdatedChain = (values: readonly Uint8Array[]): Uint8Array[] =>
  outdated(values, decodeChainEvent, (event) => encodeChainEvent(Object.assign(event, { checksum: 0 })))

const outdatedNode = (values: readonly Uint8Array[]): Uint8Array[] =>
  outdated(
    values,
    (value) => fromBinary(NodeEventSchema, value),
    (event) => toBinary(NodeEventSchema, event),
  )

/** Appends a batch of a superseded poller: of an older epoch, and of a chain that has moved on since. */
const latePoller: Fault = {
  name: 'late poller',
  async strike({ log }, random) {
    for (let times = 0; times < 3; times++) {
      await sleep(random.below(200))
      await persistently(async () => {
        const chain = outdatedChain(await newest(log, 'chain', LOOK_BACK))
        const node = outdatedNode(await newest(log, 'node', LOOK_BACK))
        await log.append('chain', chain)
        await log.append('node', node)
      })
    }
  },
}

const brokerKilled: Fault = {
  name: 'broker killed',
  needs: 'broker',
  strike: async ({ broker }) => broker?.kill(),
}

const brokerRestarted: Fault = {
  name: 'broker restarted',
  needs: 'broker',
  strike: async ({ broker }) => broker?.restart(),
}

const brokerPaused: Fault = {
  name: 'broker silent',
  needs: 'broker',
  async strike({ broker }, random) {
    await broker?.pause()
    await sleep(500 + random.below(1500))
    broker?.resume()
  },
}

export const LOG_FAULTS: readonly Fault[] = [
  again('delivered twice', (values) => values),
  again('delivered again out of order', shuffled),
  latePoller,
  brokerKilled,
  brokerRestarted,
  brokerPaused,
]
