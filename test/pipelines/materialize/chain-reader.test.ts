import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { encodeChainEvent } from '../../../pipelines/events/chain-event.js'
import { positionOf } from '../../../pipelines/events/positions.js'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { ChainReader, type ReaderStart } from '../../../pipelines/materialize/chain-reader.js'
import { LogShrank, PoisonEvent } from '../../../pipelines/materialize/poison.js'

type Fields = Parameters<typeof encodeChainEvent>[0]
type Payload = NonNullable<Fields['event']>

/** On branch `a`, which the index has applied up to height 9, or on another one that forks from it at a height. */
const hash = (height: number, branch = 'a'): Buffer => Buffer.from(`${branch}${String(height)}`.padStart(32))
const workOf = (height: number): Buffer => {
  const work = Buffer.alloc(32)
  work.writeUInt32BE(height + 1, 28)
  return work
}

function connect(height: number, branch = 'a', parent = branch): Payload {
  const prevHash = height === 0 ? Buffer.alloc(32) : hash(height - 1, parent)
  return {
    case: 'blockConnected',
    value: { height, hash: hash(height, branch), prevHash, chainwork: workOf(height), raw: Buffer.alloc(80) },
  }
}

/** @param settled height of the published tip of the index for which the epoch was written, -1 if it had none. */
function resume(height: number, settled: number): Payload {
  const settledWork = settled < 0 ? Buffer.alloc(0) : workOf(settled)
  const at = height < 0 ? Buffer.alloc(32) : hash(height)
  return {
    case: 'epochStarted',
    value: {
      chain: 'regtest',
      genesisHash: hash(0),
      resume: { height: BigInt(height), hash: at, settledWork, damagedPosition: -1n },
    },
  }
}

describe('a reader of topic chain', () => {
  const TIP = 9
  let folder = ''
  let log: EventLog
  let sequence = 0n

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-reader-'))
    log = await openEmbeddedLog(folder)
  })
  afterEach(async () => {
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  const write = (fields: Omit<Fields, 'event' | 'sequence'>, ...events: Payload[]): Promise<number> =>
    log.append(
      'chain',
      events.map((event) => encodeChainEvent({ ...fields, sequence: sequence++, event })),
    )

  /**
   * A reader for an index that has applied all events up to `position`, and has the chain up to `TIP`, of which 5 is
   * final.
   */
  function reader(position: number, start: Partial<ReaderStart> = {}): ChainReader {
    return new ChainReader({
      log,
      deadLettered: new Set(),
      decodes: false,
      head: {
        chain: 'regtest',
        epoch: 1,
        sequence: -1n,
        position,
        tipHeight: TIP,
        tipHash: hash(TIP).toString('hex'),
        finalHeight: 5,
      },
      hashAt: (height) => Promise.resolve(hash(height).toString('hex')),
      ...start,
    })
  }

  /** Kind and height of each remaining event; settled ones are marked. */
  async function taken(from: ChainReader): Promise<string[]> {
    const lines: string[] = []
    for (;;) {
      const events = await from.take(100, 1 << 20)
      if (events === undefined) return lines
      for (const { event } of events) {
        const { case: kind = 'nothing', value } = event.event
        const at = value !== undefined && 'height' in value ? ` ${String(value.height)}` : ''
        lines.push(`${kind}${at}${event.settled ? '!' : ''}`)
      }
    }
  }

  it('publishes no part of its chain if an epoch repairs the log for an index that has not got as far', async () => {
    await write({ epoch: 2, settled: true }, resume(3, 3))
    await write({ epoch: 2, settled: true }, ...[4, 5, 6, 7, 8].map((height) => connect(height)))
    await write({ epoch: 3, settled: true }, resume(-1, -1))
    await write(
      { epoch: 3, settled: true },
      ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((height) => connect(height)),
    )
    const lines = await taken(reader(-1))
    expect(lines).toEqual(['epochStarted', 'epochStarted', 'nothing!', 'blockConnected 10!'])
  })

  it('follows a node that has gone back to a part of its chain', async () => {
    await write({ epoch: 2, settled: false }, resume(6, TIP))
    await write({ epoch: 2, settled: true }, connect(7))
    const lines = await taken(reader(-1))
    expect(lines).toEqual(['epochStarted', 'blockDisconnected 9', 'blockDisconnected 8!'])
  })

  it('of a lost log continues at no epoch whose heads would rank below the published one', async () => {
    const start = { lost: new LogShrank('lost') }
    await write({ epoch: 2, settled: false }, resume(7, TIP))
    const lost = reader(20, start)
    await expect(lost.take(100, 1 << 20)).rejects.toThrow('lost')
    await write({ epoch: 3, settled: false, generation: 1 }, resume(7, TIP))
    await write({ epoch: 3, settled: false, generation: 1 }, connect(8))
    await write({ epoch: 3, settled: true, generation: 1 }, connect(9), connect(10))
    expect(await taken(lost)).toEqual(['epochStarted', 'nothing!', 'blockConnected 10!'])
    const later = reader(positionOf(1, 20), start)
    await expect(later.take(100, 1 << 20)).rejects.toThrow('lost')
  })

  it('of a lost log does not follow another chain that forks below the final block', async () => {
    const start = { lost: new LogShrank('lost') }
    await write({ epoch: 2, settled: false, generation: 1 }, resume(-1, -1))
    await write({ epoch: 2, settled: true, generation: 1 }, connect(0), connect(1), connect(2, 'b', 'a'))
    const foreign = reader(20, start)
    expect(await foreign.take(100, 1 << 20)).toMatchObject([{ event: { settled: false } }])
    expect(foreign.damage).toBeInstanceOf(PoisonEvent)
    expect(foreign.damage?.message).toMatch(/leads to a chain without the index's final block 5/)
    expect(await foreign.hashAt(TIP)).toBe(hash(TIP).toString('hex'))
    await expect(foreign.take(100, 1 << 20)).rejects.toBe(foreign.damage)
    // Above the final block it does.
    await write({ epoch: 3, settled: true, generation: 1 }, resume(5, TIP), connect(6, 'c', 'a'))
    expect(await taken(foreign)).toEqual([
      'epochStarted',
      'blockDisconnected 9',
      'blockDisconnected 8',
      'blockDisconnected 7',
      'blockDisconnected 6',
      'blockConnected 6!',
    ])
  })
})
