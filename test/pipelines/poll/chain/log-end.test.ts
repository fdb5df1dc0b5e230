import type { MessageInitShape } from '@bufbuild/protobuf'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../pipelines/chain/networks.js'
import { blockHash, parseHeader, serializeHeader } from '../../../../pipelines/chain/block.js'
import { encodeChainEvent } from '../../../../pipelines/events/chain-event.js'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import { MAX_BATCH, readLogEnd } from '../../../../pipelines/poll/chain/log-end.js'
import type { ChainEventSchema } from '../../../../proto/gen/headwater/events/v1/events_pb.js'

let dir: string
let log: EventLog
/** The next sequence number of each epoch. */
let next: Map<number, bigint>

beforeEach(async () => {
  next = new Map()
  dir = mkdtempSync(join(tmpdir(), 'headwater-end-'))
  log = await openEmbeddedLog(dir)
})

afterEach(async () => {
  await log.close()
  rmSync(dir, { recursive: true, force: true })
})

type Payload = NonNullable<MessageInitShape<typeof ChainEventSchema>['event']>

/** Headers of blocks by their name in the tests, branch and height; and these names by hash. */
const headers = new Map<string, Buffer>()
const names = new Map<string, string>()
const ZERO = '0'.repeat(64)

function header(branch: string, height: number, parent = branch): Buffer {
  const known = headers.get(`${branch}${String(height)}`)
  if (known !== undefined) return known
  const prevHash = height === 0 ? ZERO : blockHash(header(parent, height - 1), REGTEST)
  const merkleRoot = Buffer.from(`${branch}${String(height)}`.padStart(32)).toString('hex')
  const made = serializeHeader({ version: 1, prevHash, merkleRoot, time: 0, bits: 0, nonce: 0 })
  headers.set(`${branch}${String(height)}`, made)
  names.set(blockHash(made, REGTEST), `${branch}${String(height)}`)
  return made
}

const hash = (branch: string, height: number, parent?: string): Buffer =>
  Buffer.from(blockHash(header(branch, height, parent), REGTEST), 'hex')
const name = (hashHex: string | undefined): string => names.get(hashHex ?? '') ?? ''

const start: Payload = { case: 'epochStarted', value: { chain: 'regtest', genesisHash: hash('a', 0) } }

function connect(branch: string, height: number, parent = branch): Payload {
  const chainwork = Buffer.alloc(32)
  chainwork.writeUInt32BE(height + 1, 28)
  const raw = header(branch, height, parent)
  const prevHash = Buffer.from(parseHeader(raw).prevHash, 'hex')
  return { case: 'blockConnected', value: { height, hash: hash(branch, height), prevHash, chainwork, raw } }
}

function disconnect(branch: string, height: number, parent = branch): Payload {
  return {
    case: 'blockDisconnected',
    value: { height, hash: hash(branch, height), prevHash: hash(parent, height - 1) },
  }
}

async function write(epoch: number, settled: boolean, ...events: Payload[]): Promise<void> {
  const values = events.map((event) => {
    const sequence = next.get(epoch) ?? 0n
    next.set(epoch, sequence + 1n)
    return encodeChainEvent({ epoch, sequence, settled, event })
  })
  await log.append('chain', values)
}

async function summary(): Promise<{ epoch: number; tip: string; settled: boolean; work: number }> {
  const { epoch, tip, settled, settledWork } = await readLogEnd(log, REGTEST)
  return { epoch, tip: name(tip?.hash), settled, work: Number.parseInt(settledWork || '0', 16) }
}

describe('the end of the log', () => {
  it('is empty for an empty log', async () => {
    expect(await readLogEnd(log, REGTEST)).toMatchObject({
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
    expect((await readLogEnd(log, REGTEST)).identity).toEqual({
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

  it('ignores late events of a superseded poller', async () => {
    await write(1, true, start, connect('a', 0), connect('a', 1))
    await write(2, true, start, connect('a', 2), connect('a', 3))
    await write(1, true, ...Array.from({ length: MAX_BATCH }, (_, i) => connect('x', i + 2)))
    expect(await summary()).toEqual({ epoch: 2, tip: 'a3', settled: true, work: 4 })
    await write(3, true, start)
    await write(2, true, connect('y', 4))
    expect(await summary()).toEqual({ epoch: 3, tip: 'a3', settled: true, work: 4 })
  })

  // Chaos, seed 11, "delivered again out of order": the next poller continued from a block far below the tip.
  it('ignores the duplicates of a retry', async () => {
    await write(1, true, start, connect('a', 0), connect('a', 1), connect('a', 2), connect('a', 3))
    const again = await log.read('chain', 1, 3)
    await log.append(
      'chain',
      [...again].reverse().map(({ value }) => value),
    )
    expect(await summary()).toEqual({ epoch: 1, tip: 'a3', settled: true, work: 4 })
  })

  it('has the remaining chain of a log that has lost its beginning', async () => {
    await write(1, true, connect('a', 0))
    expect((await readLogEnd(log, REGTEST)).identity).toMatchObject({
      chain: '',
      genesisHash: hash('a', 0).toString('hex'),
    })
    await write(2, true, start)
    expect((await readLogEnd(log, REGTEST)).tip?.height).toBe(0)
  })

  it('continues at the block at which an epoch resumes, and settles nothing with less work than was published', async () => {
    await write(1, true, start, connect('a', 0), connect('a', 1), connect('a', 2), connect('a', 3))
    const settledWork = Buffer.alloc(32, 0)
    settledWork.writeUInt32BE(4, 28)
    const resume = { height: 1n, hash: hash('a', 1), settledWork }
    await write(2, false, { case: 'epochStarted', value: { ...start.value, resume } } as Payload)
    expect(await summary()).toEqual({ epoch: 2, tip: 'a1', settled: false, work: 4 })
    await write(2, false, connect('b', 2, 'a'))
    expect(await summary()).toEqual({ epoch: 2, tip: 'b2', settled: false, work: 4 })
    await write(2, true, connect('b', 3), connect('b', 4))
    expect(await summary()).toEqual({ epoch: 2, tip: 'b4', settled: true, work: 5 })
  })

  it('ignores bytes that are no event, and events that are not consecutive', async () => {
    await write(1, true, start, connect('a', 0), connect('a', 1))
    await log.append('chain', [Buffer.from('nonsense')])
    await write(1, true, connect('x', 7))
    // The hash of a block with another parent than its header names: it is not that block.
    const forged = connect('a', 1)
    if (forged.case !== 'blockConnected') throw new Error('not a block')
    await write(1, true, { ...forged, value: { ...forged.value, prevHash: hash('x', 5) } })
    expect(await summary()).toMatchObject({ tip: 'a1', epoch: 1 })
    await write(2, true, start, connect('a', 2))
    expect(await summary()).toMatchObject({ tip: 'a2', epoch: 2 })
  })
})
