import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../pipelines/chain/networks.js'
import { parseTx, serializeTx } from '../../../../pipelines/chain/transaction.js'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import { ChainWriter } from '../../../../pipelines/poll/chain/chain-writer.js'
import { NodeWriter } from '../../../../pipelines/poll/mempool/node-writer.js'
import { readMempool } from '../../../../pipelines/poll/mempool/log.js'
import { MempoolEvents } from '../../../../pipelines/mempool/mempool-events.js'
import { mempoolTx, type MempoolTx } from '../../../../pipelines/mempool/mempool-tx.js'
import { NONE } from '../fake-chain.js'

const logger = pino({ level: 'silent' })
const MB = 2 ** 20
/** Together with the event around it the largest batch that a topic accepts: 8 MiB and one event more. */
const MAX_BATCH_BYTES = 9 * MB

/** Returns a transaction. @param bytes the size of its script: a megabyte, unless set. */
function transaction(salt: number, bytes = MB): MempoolTx {
  const inputs = [{ prevTxid: NONE, prevVout: salt, scriptSig: Buffer.alloc(0), sequence: 0, witness: [] }]
  const raw = serializeTx(
    { version: 2, locktime: salt, inputs, outputs: [{ value: 1n, script: Buffer.alloc(bytes, salt) }] },
    false,
  )
  return mempoolTx({ txid: parseTx(raw).txid, raw, fee: BigInt(salt), firstSeen: salt })
}

const txs = Array.from({ length: 30 }, (_, salt) => transaction(salt))
const txids = new Set(txs.map(({ txid }) => txid))
const counts = (entered: bigint) => ({ entered, left: 0n })

describe('a mempool that is larger than the largest batch of a log', () => {
  let folder: string
  let log: EventLog
  let appended: number[]
  /** Called before each batch. */
  let beforeAppend: (batch: number) => Promise<void> | void

  /** A log that refuses large batches. */
  const limited = (): EventLog =>
    new Proxy(log, {
      get: (target, name) => {
        if (name !== 'append') return Reflect.get(target, name).bind(target) as unknown
        const append: EventLog['append'] = async (topic, values) => {
          const bytes = values.reduce((sum, { length }) => sum + length, 0)
          if (bytes > MAX_BATCH_BYTES) throw new Error(`a batch of ${String(bytes)} bytes`)
          await beforeAppend(appended.length)
          const position = await target.append(topic, values)
          if (topic === 'node') appended.push(bytes)
          return position
        }
        return append
      },
    })

  const newWriter = async (): Promise<NodeWriter> => {
    const chain = await ChainWriter.start(limited(), { network: REGTEST, genesisHash: NONE }, NONE)
    return new NodeWriter(limited(), chain)
  }

  /** The mempool of an explorer that starts now. */
  async function shownMempool(): Promise<Set<string>> {
    const events = new MempoolEvents(log, logger)
    const { from } = await events.findStart(Number.MAX_SAFE_INTEGER)
    const mempool = new Set<string>()
    for (const step of events.steps(await log.read('node', from, 1000, 1000 * MB))) {
      if (step.kind === 'snapshot') mempool.clear()
      for (const { txid } of step.kind === 'snapshot' ? step.entries : step.deltas.flatMap((d) => d.entered))
        mempool.add(txid)
    }
    return mempool
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headwater-node-writer-'))
    log = await openEmbeddedLog(folder)
    appended = []
    beforeAppend = () => undefined
  })
  afterEach(async () => {
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is written in several batches, as a snapshot and as transactions that entered', async () => {
    const writer = await newWriter()
    await writer.delta(await writer.snapshot(-1, counts(0n), []), counts(0n), {
      entered: txs,
      left: [],
      passed: [],
    })
    expect(appended.length).toBeGreaterThan(4)
    expect(await shownMempool()).toEqual(txids)
    const position = await writer.snapshot(0, counts(30n), txs)
    const state = await readMempool(log, logger, REGTEST)
    expect(state).toMatchObject({ snapshotPosition: position, deltas: 0 })
    expect([state.mempool.entered, new Set(state.mempool.txs.keys())]).toEqual([30n, txids])
    expect(await shownMempool()).toEqual(txids)
  })

  it('is split when thousands leave at once, and counts them', async () => {
    const writer = await newWriter()
    const position = await writer.snapshot(0, counts(30n), txs)
    // Each is written with its bytes.
    const small = transaction(31, 100)
    const many = Array.from({ length: 20_000 }, () => small)
    const left = many.map((tx) => ({ tx, cause: { reason: 'unknown' } as const }))
    const passed = { txid: txs[0]!.txid, fee: 1n, vsize: 1, block: '00'.repeat(32), height: 1 }
    expect(
      await writer.delta(position, counts(30n), { entered: txs, left, passed: [passed] }),
    ).toBeGreaterThan(3)
    const { mempool } = await readMempool(log, logger, REGTEST)
    expect([mempool.entered, mempool.left]).toEqual([30n + 1n + BigInt(txs.length), 20_001n])
  })

  it('yields to other writers between two batches', async () => {
    const writer = await newWriter()
    let turns = 0
    let counting = true
    const count = (): void => {
      turns++
      if (counting) setImmediate(count)
    }
    setImmediate(count)
    const before = appended.length
    await writer.snapshot(0, counts(30n), txs)
    counting = false
    const batches = appended.length - before
    expect(batches).toBeGreaterThan(2)
    expect(turns).toBeGreaterThanOrEqual(batches)
  })

  it('is the snapshot before while the next one is incomplete, and remains so if its writer was stopped', async () => {
    const writer = await newWriter()
    const before = await writer.snapshot(0, counts(3n), txs.slice(0, 3))
    const some = new Set(txs.slice(0, 3).map(({ txid }) => txid))
    beforeAppend = (batch) => {
      if (batch === 3) throw new Error('the log is unavailable')
    }
    await expect(writer.snapshot(0, counts(30n), txs)).rejects.toThrow('the log is unavailable')
    expect(await shownMempool()).toEqual(some)
    beforeAppend = () => undefined
    // The next snapshot starts from the last complete one.
    const next = await newWriter()
    const state = await readMempool(log, logger, REGTEST)
    expect(state).toMatchObject({ snapshotPosition: before, deltas: 0 })
    expect(new Set(state.mempool.txs.keys())).toEqual(some)
    await next.delta(before, counts(3n), { entered: txs.slice(3), left: [], passed: [] })
    expect(await shownMempool()).toEqual(txids)
    expect(new Set((await readMempool(log, logger, REGTEST)).mempool.txs.keys())).toEqual(txids)
  })

  it('is not taken for complete if another poller wrote into it', async () => {
    const writer = await newWriter()
    beforeAppend = async (batch) => {
      if (batch === 2) await log.append('node', [Buffer.from('of another')])
    }
    await expect(writer.snapshot(0, counts(30n), txs)).rejects.toThrow(
      'another poller wrote into the snapshot',
    )
  })
})
