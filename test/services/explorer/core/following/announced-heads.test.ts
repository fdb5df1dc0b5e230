import { create, fromBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { Announcer } from '../../../../../pipelines/materialize/announce.js'
import type { EventLog } from '../../../../../pipelines/log/port.js'
import type { Head } from '../../../../../pipelines/tables/head.js'
import {
  CommittedEventSchema,
  type HeadCommitted,
  HeadCommittedSchema,
} from '../../../../../proto/gen/headwater/events/v1/events_pb.js'
import { AnnouncedHeads } from '../../../../../services/explorer/core/following/announced-heads.js'

const WRITER = 7n << 20n
const hashOf = (number: number): string => number.toString(16).padStart(64, '0')

/** Returns the head after `previous`, with one block per position. */
const headAt = (position: number, change: Partial<Head> = {}): Head => ({
  position,
  previous: position - 1,
  chain: 'regtest',
  tipHeight: position,
  tipHash: hashOf(position),
  finalHeight: position - 3,
  epoch: 4,
  sequence: 2n ** 40n,
  disconnected: [],
  connected: [hashOf(position)],
  blocksBefore: position,
  reorgsBefore: 1,
  writtenAt: 1_700_000_000_000 + position,
  writer: WRITER,
  reached: true,
  ...change,
})

/** Returns the event by which the materializer announces a head. */
async function announced(head: Head): Promise<HeadCommitted> {
  const values: Uint8Array[] = []
  const append = (_: string, [value]: readonly Uint8Array[]): Promise<number> => {
    if (value !== undefined) values.push(value)
    return Promise.resolve(0)
  }
  await new Announcer({ append } as unknown as EventLog).head(head, { hashAt: () => undefined })
  const { event } = fromBinary(CommittedEventSchema, values[0] ?? new Uint8Array())
  if (event.case !== 'head') throw new Error('no head was announced')
  return event.value
}

describe('announced heads', () => {
  const heads = new AnnouncedHeads()
  const announce = async (...all: Head[]): Promise<void> => {
    for (const head of all) heads.add(await announced(head))
  }

  it('that follow the state are the rows that were written, once', async () => {
    const reorg = headAt(6, { disconnected: [hashOf(5)], connected: [hashOf(51), hashOf(6)] })
    await announce(headAt(4), headAt(5), reorg)
    expect(heads.takeAfter(headAt(4), WRITER)).toEqual([headAt(5), reorg])
    expect(heads.takeAfter(headAt(4), WRITER)).toEqual([])
  })

  it('may replace the head of the state', async () => {
    const lowered = headAt(4, { previous: 4, connected: [], finalHeight: 0, writtenAt: 1_800_000_000_000 })
    await announce(headAt(4), lowered)
    expect(heads.takeAfter(headAt(4), WRITER)).toEqual([lowered])
    await announce(headAt(4), lowered)
    expect(heads.takeAfter(lowered, WRITER)).toEqual([])
  })

  it.each([
    ['after a gap', [headAt(6)]],
    ['with a gap between them', [headAt(5), headAt(7)]],
    ['of another writer', [headAt(5, { writer: WRITER + 1n })]],
    ['of the writer, after one of another', [headAt(5, { writer: WRITER - 1n }), headAt(6)]],
    [
      'with many blocks',
      [headAt(5, { connected: Array.from({ length: 101 }, (_, each) => hashOf(each)) }), headAt(6)],
    ],
    ['without blocks', [headAt(5, { tipHeight: -1, tipHash: '', connected: [] })]],
  ])('%s are read from the table', async (_, all) => {
    await announce(...all)
    expect(heads.takeAfter(headAt(4), WRITER)).toEqual([])
  })

  it('of earlier versions are read from the table, and those after them too', async () => {
    heads.add(create(HeadCommittedSchema, { position: 5n, tipHeight: 5 }))
    await announce(headAt(6))
    expect(heads.takeAfter(headAt(4), WRITER)).toEqual([])
  })
})
