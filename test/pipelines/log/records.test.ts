import { create, toBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { LogRecord } from '../../../pipelines/log/port.js'
import { batchesBack, messageIn, recordsOf } from '../../../pipelines/log/records.js'
import { NodeEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'

const record = (position: number): LogRecord => ({ position, time: 0, value: Uint8Array.of(position) })

/** A topic whose reads return fewer records than requested, as a log does if they are large. */
function topicOf(positions: readonly number[], maxAtOnce = 3) {
  return {
    reads: [] as [from: number, limit: number][],
    read(_: string, from: number, limit: number): Promise<LogRecord[]> {
      this.reads.push([from, limit])
      const found = positions.filter((position) => position >= from).slice(0, Math.min(limit, maxAtOnce))
      return Promise.resolve(found.map(record))
    },
    first: (): Promise<number> => Promise.resolve(positions[0] ?? 0),
  }
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const value of values) found.push(value)
  return found
}

const positions = (records: readonly LogRecord[]): number[] => records.map(({ position }) => position)

describe('recordsOf', () => {
  it('reads to the end of a topic, however little a single read returns', async () => {
    const topic = topicOf([2, 3, 4, 5, 6, 7, 8, 9])
    expect(positions(await all(recordsOf(topic, 'node', 0)))).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    expect(positions(await all(recordsOf(topic, 'node', 10)))).toEqual([])
  })

  it('ends with the last requested position, even if it does not exist', async () => {
    const topic = topicOf([0, 1, 2, 3, 7, 8], 4)
    expect(positions(await all(recordsOf(topic, 'chain', 1, 3)))).toEqual([1, 2, 3])
    expect(positions(await all(recordsOf(topic, 'chain', 3, 6)))).toEqual([3])
    expect(positions(await all(recordsOf(topic, 'chain', 3, 7)))).toEqual([3, 7])
    expect(positions(await all(recordsOf(topic, 'chain', 3, 2)))).toEqual([])
  })

  it('requests no more records at once than wanted', async () => {
    const topic = topicOf([0, 1, 2, 3, 4], 10)
    await all(recordsOf(topic, 'chain', 0, 3, 2))
    expect(topic.reads).toEqual([
      [0, 2],
      [2, 2],
    ])
  })
})

describe('batchesBack', () => {
  it('returns the newest batch first, each in order, down to the first record', async () => {
    const topic = topicOf([1, 2, 3, 4, 5, 6, 7], 2)
    const batches = await all(batchesBack(topic, 'chain', 6, ({ position }) => position, { atOnce: 4 }))
    expect(batches).toEqual([
      [3, 4, 5, 6],
      [1, 2],
    ])
  })

  it('stops at the given position', async () => {
    const topic = topicOf([0, 1, 2, 3, 4, 5])
    const batches = await all(
      batchesBack(topic, 'chain', 5, ({ position }) => position, { atOnce: 2, downTo: 3 }),
    )
    expect(batches).toEqual([[4, 5], [3]])
    expect(await all(batchesBack(topic, 'chain', 2, ({ position }) => position, { downTo: 3 }))).toEqual([])
  })

  it('keeps only the selected part of a record', async () => {
    const topic = topicOf([0, 1, 2, 3])
    const odd = ({ position }: LogRecord): string | undefined =>
      position % 2 === 0 ? undefined : String(position)
    expect(await all(batchesBack(topic, 'chain', 3, odd))).toEqual([['1', '3']])
  })
})

describe('messageIn', () => {
  it('returns the message, or logs a warning and returns undefined for invalid bytes', () => {
    const lines: string[] = []
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
    const value = toBinary(NodeEventSchema, create(NodeEventSchema, { epoch: 7 }))
    const report = { logger, topic: 'node' } as const
    expect(messageIn(NodeEventSchema, { position: 1, time: 0, value }, report)?.epoch).toBe(7)
    const garbage = { position: 2, time: 0, value: Uint8Array.of(0xff, 0xff, 0xff) }
    expect(messageIn(NodeEventSchema, garbage)).toBeUndefined()
    expect(lines).toEqual([])
    expect(messageIn(NodeEventSchema, garbage, report)).toBeUndefined()
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ topic: 'node', position: 2 }])
  })
})
