import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { blockHash, blockTag, serializeBlock, serializeHeader } from '../../../../../pipelines/chain/block.js'
import { BITCOIN_REGTEST } from '../../../../../pipelines/chain/networks.js'
import { parseTx, serializeTx, type Tx } from '../../../../../pipelines/chain/transaction.js'
import { encodeChainEvent } from '../../../../../pipelines/events/chain-event.js'
import type { LogRecord } from '../../../../../pipelines/log/port.js'
import { TxStoreReader } from '../../../../../pipelines/txstore/reader.js'
import { TxStoreWriter } from '../../../../../pipelines/txstore/writer.js'
import { CanonicalBlocks } from '../../../../../services/explorer/core/tables/canonical-blocks.js'
import { NearRows } from '../../../../../services/explorer/core/tables/near-rows.js'
import { blockTxKey } from '../../../../../services/explorer/core/tables/point-keys.js'
import { quickFolder } from '../../../../harness/quick-folder.js'

const NOTHING = Buffer.alloc(0)
const ANYONE = Buffer.from([0x51])
const OUTPUTS = [
  { value: 5n, script: ANYONE },
  { value: 6n, script: ANYONE },
]

interface MadeBlock {
  readonly hash: string
  readonly raw: Buffer
  readonly height: number
  readonly prevHash: string
  readonly txs: readonly Tx[]
}

/** Returns a transaction that spends the first output of another one, or a coinbase. */
function tx(number: number, spent?: Tx): Tx {
  const [prevTxid, prevVout] = spent === undefined ? ['00'.repeat(32), 0xffff_ffff] : [spent.txid, 0]
  const input = { prevTxid, prevVout, scriptSig: Buffer.from([number]), sequence: 0, witness: [] }
  return parseTx(serializeTx({ version: 2, locktime: number, inputs: [input], outputs: OUTPUTS }, true))
}

function block(before: MadeBlock | undefined, txs: readonly Tx[], nonce = 0): MadeBlock {
  const [height, prevHash] = before === undefined ? [0, '00'.repeat(32)] : [before.height + 1, before.hash]
  const fields = { version: 1, prevHash, merkleRoot: '00'.repeat(32), time: height, bits: 0, nonce }
  const raw = serializeBlock(
    serializeHeader(fields),
    txs.map((each) => serializeTx(each, true)),
  )
  return { hash: blockHash(raw, BITCOIN_REGTEST), raw, height, prevHash, txs }
}

function event({ hash, raw, height, prevHash, txs }: MadeBlock, prevouts = txs.length - 1): Buffer {
  const value = {
    height,
    hash: Buffer.from(hash, 'hex'),
    prevHash: Buffer.from(prevHash, 'hex'),
    raw,
    prevouts: Array.from({ length: prevouts }, () => ({ value: 5n, script: ANYONE, height: 0 })),
  }
  return encodeChainEvent({ epoch: 1, sequence: 1n, settled: true, event: { case: 'blockConnected', value } })
}

async function chainOf(blocks: readonly MadeBlock[]): Promise<CanonicalBlocks> {
  const pages = blocks.map(({ height, hash }) => {
    const page = Buffer.alloc(40)
    page.writeUInt32LE(height)
    page.write(hash, 4, 'hex')
    return page
  })
  async function* all(): AsyncGenerator<Buffer> {
    yield* await Promise.resolve(pages)
  }
  return CanonicalBlocks.NONE.extended(0, all(), blocks.length - 1)
}

describe('rows of the transaction store', () => {
  let folder: string
  let writer: TxStoreWriter
  let near: NearRows
  let chain = CanonicalBlocks.NONE
  let position = 0

  beforeEach(async () => {
    folder = await quickFolder('headwater-near-')
    const path = join(folder, 'txs.sqlite')
    writer = new TxStoreWriter(path)
    near = new NearRows(new TxStoreReader(path), () => chain, pino({ level: 'silent' }))
  })

  afterEach(async () => {
    near.close()
    writer.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Writes events, and waits until the next turn, in which reads see them. */
  async function write(...values: readonly Buffer[]): Promise<void> {
    const records = values.map((value): LogRecord => ({ position: position++, time: 0, value }))
    writer.write(records, BITCOIN_REGTEST)
    await new Promise(setImmediate)
  }

  const txOf = (txid: string) => near.of('txs')?.(txid) as { readonly height: number } | undefined
  const txidAt = ({ height, hash }: MadeBlock, txIndex: number) =>
    near.of('txids')?.(blockTxKey({ height, blockTag: blockTag(hash), txIndex }))
  const spendsOf = ({ txid }: Tx) =>
    near.of('spends')?.(txid.slice(0, 40)) as readonly { readonly txid: string; readonly vin: number }[]

  const coinbases = [1, 2, 3, 4, 5].map((number) => tx(number))
  const [first, second, third, fourth, fifth] = coinbases as [Tx, Tx, Tx, Tx, Tx]

  it('are those of the chain: body, place and spends', async () => {
    const genesis = block(undefined, [first])
    const spending = tx(7, first)
    const next = block(genesis, [second, spending])
    await write(event(genesis), event(next))
    chain = await chainOf([genesis, next])
    expect(near.from).toBe(0)
    expect(txOf(spending.txid)).toEqual({
      txid: spending.txid,
      height: 1,
      blockTag: blockTag(next.hash),
      txIndex: 1,
      isDilithium: false,
      bodySize: serializeTx(spending, false).length + 10,
      witnessSize: 0,
      smallBody: serializeTx(spending, false),
      smallPrevouts: Buffer.concat([Buffer.from([5, 0, 0, 0, 0, 0, 0, 0, 1]), ANYONE]),
      smallWitness: NOTHING,
    })
    expect(spendsOf(first)).toEqual([
      {
        prevTxid: first.txid.slice(0, 40),
        prevVout: 0,
        height: 1,
        blockTag: blockTag(next.hash),
        txIndex: 1,
        txid: spending.txid,
        vin: 0,
      },
    ])
    expect(spendsOf(second)).toEqual([])
    expect(txOf('ab'.repeat(32))).toBeUndefined()
    expect(near.of('blockTxs')).toBeUndefined()
  })

  it('have each block once, and nothing of what is no block', async () => {
    const genesis = block(undefined, [first])
    const next = block(genesis, [second, tx(7, first)])
    const damaged = Buffer.from(event(next))
    damaged[20] = (damaged[20] ?? 0) ^ 1
    const other = { ...next, hash: 'ff'.repeat(32) }
    await write(event(genesis), event(genesis), damaged, event(other), event(next, 0), Buffer.from('x'))
    chain = await chainOf([genesis, next])
    expect([near.from, txOf(second.txid)]).toEqual([undefined, undefined])
    await write(event(next))
    expect(near.from).toBe(0)
    expect(spendsOf(first)).toHaveLength(1)
    expect(writer.progress).toEqual({ position: position - 1, time: 0 })
  })

  it('are not those of another branch, but spends are of all', async () => {
    const genesis = block(undefined, [first])
    const spending = tx(7, first)
    const old = block(genesis, [second, spending])
    const next = block(genesis, [third, spending], 1)
    const last = block(next, [fourth, tx(8, spending)])
    await write(event(genesis), event(old), event(next), event(last))
    chain = await chainOf([genesis, next, last])
    expect(txOf(second.txid)).toBeUndefined()
    expect(txOf(spending.txid)).toMatchObject({ height: 1, blockTag: blockTag(next.hash) })
    // It is spent in both branches: callers select those of their chain.
    expect(spendsOf(first)).toHaveLength(2)
    expect(spendsOf(spending)).toHaveLength(1)
    chain = await chainOf([genesis, old])
    expect(near.from).toBe(0)
    expect(txOf(spending.txid)).toMatchObject({ blockTag: blockTag(old.hash) })
    expect(spendsOf(spending)).toHaveLength(1)
  })

  it('name the transaction at a place, on whatever branch, and while blocks are missing', async () => {
    const genesis = block(undefined, [first])
    const spending = tx(7, first)
    const [old, next] = [block(genesis, [second, spending]), block(genesis, [third, tx(9, first)], 1)]
    await write(event(old), event(next))
    chain = CanonicalBlocks.NONE
    expect([txidAt(old, 0), txidAt(old, 1)]).toEqual([second.txid, spending.txid])
    expect(txidAt(next, 0)).toBe(third.txid)
    // Again, with the number of the block in memory.
    expect(txidAt(old, 1)).toBe(spending.txid)
    expect([txidAt(old, 2), txidAt(genesis, 0), txidAt({ ...old, height: 2 }, 0)]).toEqual(
      Array(3).fill(undefined),
    )
    writer.shrink(0)
    await write()
    expect(txidAt({ ...old, hash: 'ff'.repeat(32) }, 0)).toBeUndefined()
  })

  it('have no spends below a missing block, nor of a coinbase, which may be repeated', async () => {
    const genesis = block(undefined, [first])
    const missing = block(genesis, [second, tx(7, first)])
    const [below, above] = [tx(8, second), tx(9, third)]
    const next = block(missing, [third, below])
    const last = block(next, [fourth, above])
    await write(event(genesis), event(next), event(last))
    chain = await chainOf([genesis, missing, next, last])
    expect(near.from).toBe(2)
    expect(txOf(first.txid)).toMatchObject({ height: 0 })
    expect([first, third].map(spendsOf)).toEqual([undefined, undefined])
    expect([below, above].map(spendsOf)).toEqual([[], []])
    // Written after its children, whose spends of its outputs are not there.
    await write(event(missing))
    near = new NearRows(new TxStoreReader(join(folder, 'txs.sqlite')), () => chain, pino({ level: 'silent' }))
    expect(near.from).toBe(2)
  })

  it('are used for no spends while the newest block is missing', async () => {
    const genesis = block(undefined, [first])
    const next = block(genesis, [second, tx(7, first)])
    await write(event(genesis))
    chain = await chainOf([genesis])
    expect(spendsOf(first)).toEqual([])
    chain = await chainOf([genesis, next])
    expect(spendsOf(first)).toBeUndefined()
    expect(txOf(first.txid)).toMatchObject({ height: 0 })
    await write(event(next))
    expect(spendsOf(first)).toHaveLength(1)
  })

  it('are not used after an error of the file, until it is opened again', async () => {
    const genesis = block(undefined, [fifth])
    await write(event(genesis))
    chain = await chainOf([genesis])
    const broken = new TxStoreReader(join(folder, 'txs.sqlite'))
    const rows = new NearRows(broken, () => chain, pino({ level: 'silent' }))
    const read = rows.of('txs')
    expect(read?.(fifth.txid)).toMatchObject({ height: 0 })
    broken.txs = () => {
      throw new Error('disk I/O error')
    }
    expect(read?.(fifth.txid)).toBeUndefined()
    Reflect.deleteProperty(broken, 'txs')
    expect(read?.(fifth.txid)).toBeUndefined()
    rows.refresh()
    expect(read?.(fifth.txid)).toMatchObject({ height: 0 })
    rows.close()
  })
})
