import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import { addressOf, decodeAddress } from '../../../pipelines/chain/address.js'
import { merkleRoot, parseBlock, serializeHeader } from '../../../pipelines/chain/block.js'
import { difficultyOf, workOf } from '../../../pipelines/chain/difficulty.js'
import { hasDilithiumSignature } from '../../../pipelines/chain/dilithium.js'
import { scriptType } from '../../../pipelines/chain/script.js'
import { parseBody, serializeTx, weightOf } from '../../../pipelines/chain/transaction.js'
import type { NodeBlock, NodeTx } from '../../harness/node-json.js'
import { readFrames, readOracles } from '../../harness/recording.js'

const frames = readFrames()
const oracles = readOracles()

function rawBlock(header: string, { tx }: NodeBlock): Buffer {
  const count =
    tx.length < 0xfd ? Buffer.from([tx.length]) : Buffer.from([0xfd, tx.length & 0xff, tx.length >> 8])
  const txs = tx.map((each) => Buffer.from((each as NodeTx & { hex: string }).hex, 'hex'))
  return Buffer.concat([Buffer.from(header, 'hex'), count, ...txs])
}

/** Identified by the JSON alone: item sizes, and the opcode that ends a P2MR leaf. */
function naivelyDilithium({ vin }: NodeTx): boolean {
  return vin.some(({ txinwitness = [], scriptSig, prevout }) => {
    if (prevout === undefined) return false
    const sizes = txinwitness.map((item) => item.length / 2)
    if (prevout.scriptPubKey.hex.startsWith('5220')) return txinwitness.at(-2)?.endsWith('bb') ?? false
    if (sizes.length === 2) return [2420, 2421].includes(sizes[0] ?? 0) && sizes[1] === 1312
    return (scriptSig?.hex.length ?? 0) > 2 * 2420
  })
}

describe('the blocks of the recording', () => {
  const blocks = frames.flatMap(({ connected }) => connected)

  it('are parsed and serialised to the same bytes, with the hashes, sizes, scripts and addresses of the node', () => {
    expect(blocks.length).toBeGreaterThan(1500)
    for (const { header, block } of blocks) {
      const parsed = parseBlock(rawBlock(header, block), REGTEST)
      expect(serializeHeader(parsed.header).toString('hex')).toBe(header)
      expect(parsed).toMatchObject({
        hash: block.hash,
        size: block.size,
        strippedSize: block.strippedsize,
        weight: block.weight,
      })
      expect(merkleRoot(parsed.txs.map(({ txid }) => txid))).toBe(parsed.header.merkleRoot)
      for (const [index, tx] of parsed.txs.entries()) {
        const reported = block.tx[index] as NodeTx & { hex: string; weight: number }
        expect([tx.txid, tx.wtxid, tx.size, weightOf(tx, REGTEST)]).toEqual([
          reported.txid,
          reported.hash,
          reported.size,
          reported.weight,
        ])
        expect(serializeTx(tx, true).toString('hex')).toBe(reported.hex)
        expect(parseBody(tx.body, tx.witness).wtxid).toBe(tx.wtxid)
        const outputs = tx.outputs.map(({ script }) => [
          scriptType(script, REGTEST),
          addressOf(script, REGTEST),
        ])
        expect(outputs).toEqual(
          reported.vout.map(({ scriptPubKey: { type, address } }) => [
            type.replace('dilithium_scripthash', 'scripthash'),
            address,
          ]),
        )
      }
    }
  })

  it('contain as many Dilithium transactions as the sizes in the JSON show', () => {
    let found = 0
    for (const { header, block } of blocks) {
      for (const [index, tx] of parseBlock(rawBlock(header, block), REGTEST).txs.entries()) {
        const reported = block.tx[index]
        if (reported === undefined || tx.isCoinbase) continue
        const prevouts = reported.vin.map(({ prevout }) => ({
          script: Buffer.from(prevout?.scriptPubKey.hex ?? '', 'hex'),
        }))
        const isDilithium = tx.inputs.some((input, vin) =>
          hasDilithiumSignature(input, prevouts[vin]?.script, REGTEST),
        )
        expect(isDilithium, tx.txid).toBe(naivelyDilithium(reported))
        if (isDilithium) found++
      }
    }
    expect(found).toBeGreaterThan(300)
  })
})

describe('addresses', () => {
  it('of all 84 oracles pay the script that the node reports', () => {
    for (const [address, { scriptPubKey, kind }] of Object.entries(oracles.addresses)) {
      const decoded = decodeAddress(address, REGTEST)
      expect(decoded?.script.toString('hex'), address).toBe(scriptPubKey)
      expect(decoded?.isDilithiumSpelling).toBe(kind === 'dil_bech32')
    }
  })

  it.each([
    ['a changed character', 'qcrt1qzuflm428ng98vv6r58pqlcxvglhg6netprufkx'],
    ['mixed case', 'qcrt1qzuflm428ng98vv6r58pqlcxvglhg6netprufkW'],
    ['another network', 'qbtc1qzuflm428ng98vv6r58pqlcxvglhg6netprufkw'],
    ['another coin', '1BoatSLRHtKNngkdXEeobR76b53LETtpyT'],
    ['nothing', ''],
    ['no address', 'hello world'],
  ])('are refused for %s', (_, address) => {
    expect(decodeAddress(address, REGTEST)).toBeUndefined()
  })

  it('may be spelled in upper case where bech32 allows it', () => {
    const [plain, upper] = [
      'qcrt1qzuflm428ng98vv6r58pqlcxvglhg6netprufkw',
      'QCRT1QZUFLM428NG98VV6R58PQLCXVGLHG6NETPRUFKW',
    ]
    expect(decodeAddress(upper, REGTEST)).toEqual(decodeAddress(plain, REGTEST))
  })
})

describe('difficulty', () => {
  it.each([
    [0x207fffff, '0.0000000004656542373906925', 2n],
    [0x1c036e23, '74.62960903546661', 320536621121n],
    [0x1d00ffff, '1', 4295032833n],
  ])('of %i is %s', (bits, difficulty, work) => {
    expect(difficultyOf(bits)).toBe(difficulty)
    expect(workOf(bits)).toBe(work)
  })
})
