import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { EventLog } from '../../pipelines/log/port.js'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { readChainTopic } from './log-gaps.js'

type Init = MessageInitShape<typeof ChainEventSchema>

const hash = (height: number): Uint8Array => new Uint8Array(32).fill(height + 1)
const started = (epoch: number): Init => ({
  epoch,
  sequence: 0n,
  event: { case: 'epochStarted', value: { chain: 'regtest' } },
})
const connects = (epoch: number, sequence: number, height: number): Init => ({
  epoch,
  sequence: BigInt(sequence),
  event: { case: 'blockConnected', value: { height, hash: hash(height), prevHash: hash(height - 1) } },
})
const disconnects = (epoch: number, sequence: number, height: number): Init => ({
  epoch,
  sequence: BigInt(sequence),
  event: { case: 'blockDisconnected', value: { height, hash: hash(height), prevHash: hash(height - 1) } },
})

/** A log with these events at these positions. */
function logOf(events: readonly Init[], positions = events.map((_, at) => at)): EventLog {
  const records = events.map((event, at) => ({
    position: positions[at] ?? 0,
    value: toBinary(ChainEventSchema, create(ChainEventSchema, event)),
  }))
  const read = (_topic: string, from: number, count: number): Promise<unknown> =>
    Promise.resolve(records.filter(({ position }) => position >= from).slice(0, count))
  return { read } as unknown as EventLog
}

const GOOD = [started(1), connects(1, 1, 0), connects(1, 2, 1), connects(1, 3, 2), connects(1, 4, 3)]

describe('the check of topic chain', () => {
  it('finds no gap if epochs, sequences and blocks are consecutive', async () => {
    const later = [...GOOD, started(3), disconnects(3, 1, 3), connects(3, 2, 3)]
    expect(await readChainTopic(logOf(later))).toEqual({ events: 8, blocks: 4, epochs: 2, gaps: [] })
  })

  const without = (at: number): Init[] => GOOD.filter((_, index) => index !== at)
  it.each([
    // As observed: the batch after it has the position of the lost one.
    {
      what: 'an acknowledged block is lost',
      log: logOf(without(3)),
      gap: /^position 3 .*follows epoch 1, sequence 2/,
    },
    { what: 'a record is missing', log: logOf(without(3), [0, 1, 2, 4]), gap: /position 3 is missing/ },
    { what: 'the first is missing', log: logOf(without(0)), gap: /^position 0 .*follows epoch 0/ },
    {
      what: 'one is defined twice',
      log: logOf([...GOOD, ...GOOD.slice(-1)]),
      gap: /^position 5 .*follows epoch 1, sequence 4/,
    },
    { what: 'two are swapped', log: logOf([0, 1, 3, 2, 4].map((at) => GOOD[at] ?? {})), gap: /^position 2 / },
    {
      what: 'an older epoch follows a newer one',
      log: logOf([started(2), ...GOOD]),
      gap: /^position 1 .*follows epoch 2/,
    },
    {
      what: 'a new epoch connects beyond the tip',
      log: logOf([...GOOD, started(2), connects(2, 1, 5)]),
      gap: /connects 5, the tip is 3/,
    },
    {
      what: 'a block other than the tip is disconnected',
      log: logOf([...GOOD, disconnects(1, 5, 2)]),
      gap: /other than the tip/,
    },
  ])('finds a gap: $what', async ({ log, gap }) => {
    expect((await readChainTopic(log)).gaps.join('\n')).toMatch(gap)
  })
})
