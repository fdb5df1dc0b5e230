import { describe, expect, it } from 'vitest'
import { readBlock, serializeBlock } from '../../../pipelines/chain/block.js'
import { ByteReader } from '../../../pipelines/chain/bytes.js'
import { hexOf } from '../../../pipelines/chain/hash.js'
import { outpointOf, outpointsOf } from '../../../pipelines/chain/prevout.js'
import { parseTx, serializeTx } from '../../../pipelines/chain/transaction.js'

const NO_TXID = '0'.repeat(64)

function tx(prevTxid: string, prevVout: number): Buffer {
  const input = { prevTxid, prevVout, scriptSig: Buffer.alloc(2), sequence: 0, witness: [] }
  const parts = {
    version: 2,
    locktime: 0,
    inputs: [input],
    outputs: [{ value: 1n, script: Buffer.alloc(1) }],
  }
  return serializeTx(parts, false)
}

describe('serializeBlock', () => {
  it.each([1, 0xfc, 0xfd, 0xffff, 0x1_0000])(
    'encodes its number of transactions, %i, as a compactSize',
    (count) => {
      const header = Buffer.alloc(80, 7)
      const block = serializeBlock(header, [
        Buffer.alloc(count, 1),
        ...Array.from({ length: count - 1 }, () => Buffer.alloc(0)),
      ])
      expect(block.subarray(0, 80).equals(header)).toBe(true)
      const reader = new ByteReader(block.subarray(80))
      expect([reader.compactSize(), reader.remaining]).toEqual([count, count])
    },
  )
})

it('returns the bytes from which a block was parsed', () => {
  const raws = [tx(NO_TXID, 0xffff_ffff), tx('ab'.repeat(32), 3)]
  const { txs, size } = readBlock(serializeBlock(Buffer.alloc(80, 7), raws))
  expect(txs.map(({ raw }) => raw)).toEqual(raws)
  expect(size).toBe(81 + raws.reduce((sum, { length }) => sum + length, 0))
})

describe('outpointsOf', () => {
  it('returns the outpoints that a transaction spends, and none for a coinbase', () => {
    expect(outpointsOf(parseTx(tx('ab'.repeat(32), 3)))).toEqual([outpointOf('ab'.repeat(32), 3)])
    expect(outpointsOf(parseTx(tx(NO_TXID, 0xffff_ffff)))).toEqual([])
  })
})

describe('hexOf', () => {
  it('encodes only the bytes of a view', () => {
    const whole = Uint8Array.of(1, 2, 0xff, 4)
    expect(hexOf(whole.subarray(1, 3))).toBe('02ff')
    expect(hexOf(new Uint8Array())).toBe('')
  })
})
