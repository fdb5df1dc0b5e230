import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLmdbLog } from '../../../pipelines/log/lmdb.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { MAX_BATCH, readLogEnd } from '../../../pipelines/poll/log-end.js'
import { ChainEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'

let dir: string
let log: EventLog

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'headwater-end-'))
  log = await openLmdbLog(dir)
})

afterEach(async () => {
  await log.close()
  rmSync(dir, { recursive: true, force: true })
})

type Payload = NonNullable<MessageInitShape<typeof ChainEventSchema>['event']>

const hash = (branch: string, height: number): Buffer =>
  Buffer.from(`${branch}${String(height)}`.padStart(32))
const name = (hashHex: string | undefined): string =>
  Buffer.from(hashHex ?? '', 'hex')
    .toString()
    .trim()

const start: Payload = { case: 'epochStarted', value: { chain: 'regtest', genesisHash: hash('a', 0) } }

function connect(branch: string, height: number, parent = branch): Payload {
  const work = Buffer.alloc(32)
  work.writeUInt32BE(height + 1, 28)
  const prevHash = height === 0 ? Buffer.alloc(32) : hash(parent, height - 1)
  return {
    case: 'blockConnected',
    value: { height, hash: hash(branch, height), prevHash, chainwork: work, raw: Buffer.alloc(0) },
  }
}

function disconnect(branch: string, height: number, parent = branch): Payload {
  return {
    case: 'blockDisconnected',
    value: { height, hash: hash(branch, height), prevHash: hash(parent, height - 1) },
  }
}

async function write(epoch: number, settled: boolean, ...events: Payload[]): Promise<void> {
  const values = events.map((event) =>
    toBinary(ChainEventSchema, create(ChainEventSchema, { epoch, settled, event })),
  )
  await log.append('chain', values)
}

async function summary(): Promise<{ epoch: number; tip: string; settled: boolean; work: number }> {
  const { epoch, tip, settled, settledWork } = await readLogEnd(log)
  return { epoch, tip: name(tip?.hash), settled, work: Number.parseInt(settledWork || '0', 16) }
}

describe('the end of the log', () => {
  it('is empty for an empty log', async () => {
    expect(await readLogEnd(log)).toMatchObject({
      position: -1,
      epoch: 0,
      tip: undefined,
      settled: true,
      identity: undefined,
    })
  })

  it('is the last block, through any number of starts', async () => {
    await write(1, true, start, connect('a', 0), connect('a', 1))
    for (let epoch = 2; epoch < 300; epoch++) await write(epoch, true, start)
    expect(await summary()).toEqual({ epoch: 299, tip: 'a1', settled: true, work: 2 })
    expect((await readLogEnd(log)).identity).toEqual({
      chain: 'regtest',
      genesisHash: hash('a', 0).toString('hex'),
    })
  })

  it('is, after disconnects, the block below them', async () => {
    await write(1, true, start, ...Array.from({ length: 200 }, (_, i) => connect('a', i)))
    await write(1, false, ...Array.from({ length: 150 }, (_, i) => disconnect('a', 199 - i)))
    expect(await summary()).toEqual({ epoch: 1, tip: 'a49', settled: false, work: 200 })
    await write(1, false, connect('b', 50, 'a'), connect('b', 51))
    expect(await summary()).toEqual({ epoch: 1, tip: 'b51', settled: false, work: 200 })
  })

  it('does not count what a superseded poller wrote late', async () => {
    await write(1, true, start, connect('a', 0), connect('a', 1))
    await write(2, true, start, connect('a', 2), connect('a', 3))
    await write(1, true, ...Array.from({ length: MAX_BATCH }, (_, i) => connect('x', i + 2)))
    expect(await summary()).toEqual({ epoch: 2, tip: 'a3', settled: true, work: 4 })
    await write(3, true, start)
    await write(2, true, connect('y', 4))
    expect(await summary()).toEqual({ epoch: 3, tip: 'a3', settled: true, work: 4 })
  })

  it('refuses a log that does not begin at its beginning, and names what it cannot read', async () => {
    await write(1, true, connect('a', 0))
    await expect(readLogEnd(log)).rejects.toThrow(/does not begin with the start of an epoch/)
    await log.append('chain', [Buffer.from('nonsense')])
    await expect(readLogEnd(log)).rejects.toThrow(/position 1 of topic chain cannot be read/)
  })
})
