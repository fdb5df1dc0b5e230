import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { displayBytes } from '../../../pipelines/chain/hash.js'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { MempoolEvents } from '../../../pipelines/mempool/mempool-events.js'
import { NodeEventSchema, PoolLeft_Reason } from '../../../proto/gen/headwater/events/v1/events_pb.js'

type Event = NonNullable<MessageInitShape<typeof NodeEventSchema>['event']>

let folder: string
let log: EventLog
let sequence: bigint

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headwater-mempool-events-'))
  log = await openEmbeddedLog(folder)
  sequence = 0n
})
afterEach(async () => {
  await log.close()
  rmSync(folder, { recursive: true, force: true })
})

const id = (digit: string): string => digit.repeat(64)
const entry = (digit: string) => ({
  txid: displayBytes(id(digit)),
  raw: Buffer.from(digit, 'hex'),
  fee: 5n,
  firstSeen: 9,
})

/**
 * Appends an event.
 * @returns its position.
 */
function write(event: Event, { epoch = 1, seenAt = 0 } = {}): Promise<number> {
  const fields = { epoch, sequence: sequence++, chainPosition: BigInt(seenAt), event }
  return log.append('node', [toBinary(NodeEventSchema, create(NodeEventSchema, fields))])
}

const snapshot = (part: number, parts: number, ...digits: string[]): Event => {
  return { case: 'poolSnapshot', value: { part, parts, enteredBefore: 2n, entries: digits.map(entry) } }
}
const delta = (
  snapshotPosition: number,
  entered: readonly string[],
  left: readonly string[] = [],
): Event => ({
  case: 'poolDelta',
  value: {
    snapshotPosition: BigInt(snapshotPosition),
    enteredBefore: 2n,
    entered: entered.map(entry),
    left: left.map((digit) => {
      return { txid: displayBytes(id(digit)), reason: PoolLeft_Reason.REPLACED, by: displayBytes(id('f')) }
    }),
  },
})

/** The txids of the mempool in the log. */
async function stored(): Promise<string[]> {
  const txids = new Set<string>()
  for await (const step of new MempoolEvents(log, pino({ level: 'silent' })).stored()) {
    if (step.kind === 'snapshot') txids.clear()
    const deltas = step.kind === 'snapshot' ? [{ entered: step.entries, left: [] }] : step.deltas
    for (const { entered, left } of deltas) {
      for (const { txid } of left) txids.delete(txid)
      for (const { txid } of entered) txids.add(txid)
    }
  }
  return [...txids].map((txid) => txid.charAt(0))
}

describe('the mempool of the log', () => {
  it('is the last complete snapshot and the events after it', async () => {
    expect(await stored()).toEqual([])
    const first = await write(snapshot(0, 1, 'a', 'b'))
    await write(delta(first, ['c'], ['a']))
    expect(await stored()).toEqual(['b', 'c'])
    const second = await write(snapshot(0, 2, 'd'))
    expect(await stored()).toEqual(['b', 'c'])
    await write(snapshot(1, 2, 'e'))
    await write(delta(second, ['1']))
    expect(await stored()).toEqual(['d', 'e', '1'])
  })

  it('ignores events of a superseded poller, duplicates and invalid events', async () => {
    const position = await write(snapshot(0, 1, 'a'), { epoch: 2 })
    await write(delta(position, ['b']), { epoch: 1 })
    await log.append('node', [Uint8Array.of(0xff)])
    await write(delta(position, ['c']), { epoch: 2 })
    sequence--
    await write(delta(position, [], ['c']), { epoch: 2 })
    expect(await stored()).toEqual(['a', 'c'])
  })
})

describe('the steps of records', () => {
  it('identify transactions by hex, and merge deltas that were observed at the same chain', async () => {
    await write(snapshot(0, 1, 'a'), { seenAt: 1 })
    await write(delta(0, ['b']), { seenAt: 2 })
    await write(delta(0, [], ['b']), { seenAt: 2 })
    await write(delta(0, ['c']), { seenAt: 3 })
    const events = new MempoolEvents(log, pino({ level: 'silent' }))
    const steps = events.steps(await log.read('node', 0, 10))
    const reported = (digit: string) => ({
      txid: id(digit),
      raw: Buffer.from(digit, 'hex'),
      fee: 5n,
      firstSeen: 9,
    })
    expect(steps).toMatchObject([
      { kind: 'snapshot', seenAt: 1, position: 0, entries: [reported('a')], enteredBefore: 2 },
      {
        kind: 'deltas',
        seenAt: 2,
        deltas: [
          { entered: [reported('b')], left: [], enteredBefore: 2 },
          { entered: [], left: [{ txid: id('b'), reason: PoolLeft_Reason.REPLACED, by: id('f') }] },
        ],
      },
      { kind: 'deltas', seenAt: 3, deltas: [{ entered: [reported('c')] }] },
    ])
  })
})

describe('the position from which a reader starts', () => {
  it("is the last snapshot that was observed at the reader's chain", async () => {
    const first = await write(snapshot(0, 1, 'a'), { seenAt: 10 })
    await write(delta(first, ['b']), { seenAt: 20 })
    const second = await write(snapshot(0, 1, 'a', 'b'), { seenAt: 30 })
    const events = new MempoolEvents(log, pino({ level: 'silent' }))
    expect(await events.findStart(25)).toEqual({ from: first, last: second })
    expect(await events.findStart(30)).toEqual({ from: second, last: second })
  })
})

describe('the deltas before a position', () => {
  const before = async (position: number, most = 100): Promise<string> => {
    const deltas = await new MempoolEvents(log, pino({ level: 'silent' })).deltasBefore(position, most)
    return deltas.flatMap(({ entered }) => entered.map(({ txid }) => txid.charAt(0))).join('')
  }
  /** More records than are read at once. */
  const heartbeats = async (): Promise<void> => {
    const value = { timeMs: 1n, nodeHeight: 1, nodeHash: Buffer.alloc(32), pollIntervalMs: 1 }
    for (let count = 0; count < 300; count++) await write({ case: 'heartbeat', value })
  }

  it('go back to the previous snapshot, and are those in order that no later poller supersedes', async () => {
    const old = await write(snapshot(0, 1))
    await write(delta(old, ['a']))
    await heartbeats()
    const first = await write(snapshot(0, 2), { epoch: 2 })
    await write(snapshot(1, 2), { epoch: 2 })
    await write(delta(old, ['f']), { epoch: 1 })
    await write(delta(first, ['b', 'c']), { epoch: 2 })
    await heartbeats()
    await write(delta(first, ['d']), { epoch: 2 })
    const second = await write(snapshot(0, 1, 'b'), { epoch: 2 })
    await write(delta(second, ['e']), { epoch: 2 })
    expect(await before(second)).toBe('bcd')
    expect(await before(first)).toBe('a')
    expect(await before(old)).toBe('')
  })

  it('go back no further than to the number of transactions that is needed', async () => {
    const first = await write(snapshot(0, 1))
    await write(delta(first, ['a']))
    await heartbeats()
    // Its poller stopped before the end.
    await write(snapshot(0, 2))
    await write(delta(first, ['b', 'c']))
    const second = await write(snapshot(0, 1))
    expect(await before(second, 2)).toBe('bc')
    expect(await before(second, 3)).toBe('abc')
  })
})
