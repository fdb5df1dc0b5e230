import { describe, expect, it } from 'vitest'
import {
  type HeaderFields,
  hashesFor,
  hashOf,
  isProven,
  rootOf,
  targetOf,
  txidOf,
} from '../../../../../../services/explorer/faces/pages/islands/proof.js'
import { merkleBranch } from '../../../../../../pipelines/chain/block.js'
import { finalChain } from '../../../../../harness/recorded-chain.js'
import { readFrames } from '../../../../../harness/recording.js'

/** The first block of Bitcoin's main chain with a payment, as explorers show it. */
const BLOCK_170: HeaderFields = {
  hash: '00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee',
  height: 170,
  prev_hash: '000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55',
  merkle_root: '7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff',
  timestamp: '2009-01-12T03:30:25.000Z',
  nonce: '1889418792',
  bits: '1d00ffff',
  version: 1,
}
const [COINBASE, PAYMENT] = [
  'b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082',
  'f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16',
] as const

describe('the proof that a browser checks', () => {
  it('is right for block 170 of Bitcoin, and wrong if anything is changed', () => {
    expect(hashOf(BLOCK_170)).toBe(BLOCK_170.hash)
    expect(isProven(BLOCK_170)).toBe(true)
    expect(hashesFor(BLOCK_170)).toBe(4_295_032_833n)
    expect(rootOf(PAYMENT, { tx_index: 1, merkle: [COINBASE] })).toBe(BLOCK_170.merkle_root)
    expect(rootOf(COINBASE, { tx_index: 0, merkle: [PAYMENT] })).toBe(BLOCK_170.merkle_root)
    expect(rootOf(PAYMENT, { tx_index: 0, merkle: [COINBASE] })).not.toBe(BLOCK_170.merkle_root)
    for (const change of [
      { nonce: '1889418793' },
      { version: 2 },
      { timestamp: '2009-01-12T03:30:26.000Z' },
    ]) {
      expect(hashOf({ ...BLOCK_170, ...change })).not.toBe(BLOCK_170.hash)
      expect(isProven({ ...BLOCK_170, ...change })).toBe(false)
    }
    // A header that claims more work than its hash proves.
    expect(isProven({ ...BLOCK_170, bits: '1b0404cb' })).toBe(false)
    expect(targetOf({ bits: '1b0404cb' })).toBe(0x0404cbn << 192n)
    expect(targetOf({ bits: '03123456' })).toBe(0x123456n)
    expect(targetOf({ bits: '02123456' })).toBe(0x1234n)
  })

  it('is right for every transaction and header of both recorded chains', () => {
    for (const recording of ['', 'bitcoin-regtest']) {
      let witnesses = 0
      for (const { header, block } of finalChain(readFrames(recording))) {
        const bytes = Buffer.from(header, 'hex')
        const shown = (from: number): string =>
          Buffer.from(bytes.subarray(from, from + 32))
            .reverse()
            .toString('hex')
        const fields = {
          hash: block.hash,
          height: block.height,
          prev_hash: shown(4),
          merkle_root: shown(36),
          timestamp: new Date(bytes.readUInt32LE(68) * 1000).toISOString(),
          bits: bytes.readUInt32LE(72).toString(16),
          nonce: String(bytes.readUInt32LE(76)),
          version: bytes.readUInt32LE(0),
        }
        expect([hashOf(fields), isProven(fields)]).toEqual([block.hash, true])
        const txids = block.tx.map(({ txid }) => txid)
        for (const [tx_index, { txid, hex }] of block.tx.entries()) {
          if (hex.slice(8, 12) === '0001') witnesses++
          expect(txidOf(hex)).toBe(txid)
          if (tx_index % 7 !== 0) continue
          expect(rootOf(txid, { tx_index, merkle: merkleBranch(txids, tx_index) })).toBe(fields.merkle_root)
        }
      }
      expect(witnesses).toBeGreaterThan(100)
    }
  })

  it('refuses a transaction that could be a node of a Merkle tree', () => {
    expect(() => txidOf('00'.repeat(64))).toThrow('64 bytes')
  })
})
