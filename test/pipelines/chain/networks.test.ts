import { describe, expect, it } from 'vitest'
import { addressOf, decodeAddress } from '../../../pipelines/chain/address.js'
import { blockHash, parseBlock, serializeHeader } from '../../../pipelines/chain/block.js'
import { hasDilithiumSignature } from '../../../pipelines/chain/dilithium.js'
import {
  BITCOIN_MAIN,
  BITCOIN_SIGNET,
  BITCOIN_TESTNET3,
  MAIN,
  networkNamed,
  networkOfNode,
  NETWORKS,
  REGTEST,
  SIGNET,
  subsidy,
  TEST,
} from '../../../pipelines/chain/networks.js'
import { scriptType } from '../../../pipelines/chain/script.js'
import { vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'

const GENESIS_ROOT = 'ec88310bd306cf5f9554cc257db16b81147e4bd0efda75f11b38467a5d918db1'
const TESTNET_ROOT = 'cd6a53f536b1f8f9442397d1d4f3db492d88bc4280f4c172eb5b1d9e1b6152e5'

describe('the table of networks', () => {
  // Time, bits and nonce of chainparams.cpp.
  it.each([
    [MAIN, { merkleRoot: GENESIS_ROOT, time: 1_771_804_800, bits: 0x1e0377ae, nonce: 12_582_602 }],
    [TEST, { merkleRoot: TESTNET_ROOT, time: 1_771_977_600, bits: 0x1e0377ae, nonce: 2_443_007 }],
    [SIGNET, { merkleRoot: GENESIS_ROOT, time: 1_771_804_800, bits: 0x1e0377ae, nonce: 2_666_531 }],
    [REGTEST, { merkleRoot: GENESIS_ROOT, time: 1_771_804_800, bits: 0x207fffff, nonce: 3 }],
  ])('has the hash of block 0 of $name', (network, fields) => {
    const header = serializeHeader({ ...fields, version: 1, prevHash: '0'.repeat(64) })
    expect(blockHash(header, network)).toBe(network.genesisHash)
    expect(networkNamed(network.name)).toBe(network)
  })

  it('finds every network by its name and by its node, and no other', () => {
    for (const [name, network] of NETWORKS) {
      expect(network.name).toBe(name)
      expect(networkOfNode(network)).toBe(network)
    }
    expect(networkOfNode({ ...MAIN, nodeName: 'testnet4' })).toBeUndefined()
    expect(() => networkNamed('constructor')).toThrow('unknown chain constructor')
  })

  it('finds networks of the Dilithium chain by the names of earlier versions', () => {
    expect(['main', 'test', 'signet', 'regtest'].map(networkNamed)).toEqual([MAIN, TEST, SIGNET, REGTEST])
  })

  it('returns a chain with another block 0 only if it is a test network that CHAIN names', () => {
    const restarted = { nodeName: 'test', genesisHash: 'ab'.repeat(32) }
    expect(networkOfNode(restarted)).toBeUndefined()
    expect(networkOfNode(restarted, 'btq-test')).toBe(TEST)
    expect(networkOfNode(restarted, 'bitcoin-testnet3')).toBe(BITCOIN_TESTNET3)
    expect(networkOfNode(restarted, 'bitcoin-signet')).toBeUndefined()
    expect(networkOfNode({ ...restarted, nodeName: 'main' }, 'bitcoin-main')).toBeUndefined()
  })

  it('recognises another signet by its challenge, which has the block 0 of the public one', () => {
    const own = { ...BITCOIN_SIGNET, signetChallenge: '51' }
    expect(networkOfNode(own)).toBeUndefined()
    expect(networkOfNode(own, 'bitcoin-signet')).toBe(BITCOIN_SIGNET)
    expect(networkOfNode({ ...own, signetChallenge: undefined })).toBe(BITCOIN_SIGNET)
  })
})

describe('Bitcoin', () => {
  it('has its block 0', () => {
    const raw =
      `01000000${'00'.repeat(32)}3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c` +
      `010100000001${'00'.repeat(32)}ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72` +
      '206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe55' +
      '48271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000'
    const block = parseBlock(Buffer.from(raw, 'hex'), BITCOIN_MAIN)
    expect(block).toMatchObject({ hash: BITCOIN_MAIN.genesisHash, size: 285, weight: 1140 })
    expect(block.txs[0]?.txid).toBe('4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b')
  })

  // From block 0, BIP 173 and BIP 350.
  it.each([
    [
      '76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac',
      'pubkeyhash',
      '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    ],
    ['a914b472a266d0bd89c13706a4132ccfb16f7c3b9fcb87', 'scripthash', '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy'],
    [
      '0014751e76e8199196d454941c45d1b3a323f1433bd6',
      'witness_v0_keyhash',
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    ],
    [
      '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
      'witness_v1_taproot',
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    ],
  ])('spells %s, of type %s, as %s', (hex, type, address) => {
    const script = Buffer.from(hex, 'hex')
    expect(scriptType(script, BITCOIN_MAIN)).toBe(type)
    expect(addressOf(script, BITCOIN_MAIN)).toBe(address)
    expect(decodeAddress(address, BITCOIN_MAIN)).toEqual({ script, isDilithiumSpelling: false })
    expect(decodeAddress(address, MAIN)).toBeUndefined()
  })

  it('counts weights in quarters and halves the subsidy every 210,000 blocks', () => {
    const weight = weightOf({ strippedSize: 113, size: 222 }, BITCOIN_MAIN)
    expect([weight, vsizeOf(weight, BITCOIN_MAIN)]).toEqual([561, 141])
    const heights = [0, 209_999, 210_000, 64 * 210_000 - 1, 64 * 210_000]
    expect(heights.map((height) => subsidy(height, BITCOIN_MAIN))).toEqual([
      5_000_000_000n,
      5_000_000_000n,
      2_500_000_000n,
      0n,
      0n,
    ])
  })

  it('knows neither Dilithium nor P2MR', () => {
    const p2mr = Buffer.from(`5220${'11'.repeat(32)}`, 'hex')
    expect(scriptType(p2mr, BITCOIN_MAIN)).toBe('witness_unknown')
    expect(scriptType(Buffer.from(`76a914${'11'.repeat(20)}88bb`, 'hex'), BITCOIN_MAIN)).toBe('nonstandard')
    const leaf = Buffer.concat([
      Buffer.from('4d2005', 'hex'),
      Buffer.alloc(1312, 7),
      Buffer.from('bb', 'hex'),
    ])
    const witness = [Buffer.alloc(2420, 1), leaf, Buffer.from('c1', 'hex')]
    const input = {
      prevTxid: '11'.repeat(32),
      prevVout: 0,
      scriptSig: Buffer.alloc(0),
      sequence: 0,
      witness,
    }
    expect([MAIN, BITCOIN_MAIN].map((network) => hasDilithiumSignature(input, p2mr, network))).toEqual([
      true,
      false,
    ])
  })
})
