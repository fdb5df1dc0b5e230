import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { addressOf, decodeAddress } from '../../../pipelines/chain/address.js'
import { difficultyOf } from '../../../pipelines/chain/difficulty.js'
import {
  BITCOIN_MAIN,
  BITCOIN_REGTEST,
  type Network,
  networkOfNode,
  REGTEST,
  subsidy,
} from '../../../pipelines/chain/networks.js'
import { scriptType } from '../../../pipelines/chain/script.js'
import { parseTx, vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'
import type { NodeBlock, NodeTx } from '../../harness/node-json.js'

interface Decoded {
  readonly type: string
  readonly address?: string
  readonly p2sh?: string
  readonly segwit?: { readonly hex: string; readonly type: string; readonly address?: string }
}

interface Described {
  readonly scriptPubKey: string
  readonly decoded?: Decoded
}

interface Oracles {
  readonly chaininfo: { readonly chain: string; readonly difficulty: number }
  readonly blockstats: Readonly<Record<string, { readonly subsidy: number }>>
  readonly addresses?: Readonly<Record<string, Described>>
  readonly scripts?: Readonly<Record<string, Described>>
}

type Tx = NodeTx & { readonly hex: string; readonly vsize: number; readonly weight: number }
type Block = Omit<NodeBlock, 'tx'> & { readonly bits: string; readonly tx: readonly Tx[] }

interface Recording {
  readonly oracles: Oracles
  readonly blocks: readonly Block[]
}

function read(folder: string): Recording {
  const at = (name: string): Buffer =>
    readFileSync(new URL(`../../recording/${folder}${name}`, import.meta.url))
  const frames = gunzipSync(at('timeline.jsonl.gz')).toString().trim().split('\n')
  return {
    oracles: JSON.parse(at('oracles.json').toString()) as Oracles,
    blocks: frames.flatMap((line) =>
      (JSON.parse(line) as { connected: { block: Block }[] }).connected.map(({ block }) => block),
    ),
  }
}

const RECORDINGS: readonly (readonly [network: Network, folder: string, types: readonly string[]])[] = [
  [
    REGTEST,
    '',
    [
      'dilithium_pubkeyhash',
      'nulldata',
      'pubkey',
      'pubkeyhash',
      'scripthash',
      'witness_v0_keyhash',
      'witness_v1_taproot',
      'witness_v2_p2mr',
    ],
  ],
  [
    BITCOIN_REGTEST,
    'bitcoin-regtest/',
    [
      'anchor',
      'multisig',
      'nonstandard',
      'nulldata',
      'pubkey',
      'pubkeyhash',
      'scripthash',
      'witness_unknown',
      'witness_v0_keyhash',
      'witness_v0_scripthash',
      'witness_v1_taproot',
    ],
  ],
  [BITCOIN_MAIN, 'bitcoin-main/', ['pubkey', 'pubkeyhash']],
]

/** The node of the Dilithium chain names every P2SH output so. */
const namedByNode = (type: string): string => (type === 'dilithium_scripthash' ? 'scripthash' : type)

const p2sh = (script: Buffer): Buffer => {
  const hash = createHash('ripemd160').update(createHash('sha256').update(script).digest()).digest()
  return Buffer.concat([Buffer.from('a914', 'hex'), hash, Buffer.from('87', 'hex')])
}

describe.each(RECORDINGS)('the constants of $name', (network, folder, types) => {
  const { oracles, blocks } = read(folder)
  const described = Object.values({ ...oracles.addresses, ...oracles.scripts })

  it('are those of a node with this name and this block 0', () => {
    const node = { nodeName: oracles.chaininfo.chain, genesisHash: blocks[0]?.hash ?? '' }
    expect(networkOfNode(node)).toBe(network)
    expect(Number(difficultyOf(Number.parseInt(blocks.at(-1)?.bits ?? '', 16)))).toBe(
      oracles.chaininfo.difficulty,
    )
  })

  it('give every transaction and block the weight, and every transaction the virtual size of the node', () => {
    for (const block of blocks) {
      expect(weightOf({ strippedSize: block.strippedsize, size: block.size }, network)).toBe(block.weight)
      for (const { hex, vsize, weight } of block.tx) {
        const ours = weightOf(parseTx(Buffer.from(hex, 'hex')), network)
        expect(ours).toBe(weight)
        // The node of the Dilithium chain prints the weight here.
        expect(network.dilithium === undefined ? vsizeOf(ours, network) : ours).toBe(vsize)
      }
    }
  })

  it('give every block the subsidy of the node', () => {
    const heights = Object.keys(oracles.blockstats)
    expect(heights.length).toBeGreaterThanOrEqual(40)
    for (const height of heights)
      expect(subsidy(Number(height), network), height).toBe(BigInt(oracles.blockstats[height]?.subsidy ?? -1))
  })

  it('give every output the type and the address of the node', () => {
    const seen = new Set<string>()
    for (const block of blocks)
      for (const { vout } of block.tx)
        for (const { scriptPubKey } of vout) {
          const script = Buffer.from(scriptPubKey.hex, 'hex')
          expect([scriptType(script, network), addressOf(script, network)], scriptPubKey.hex).toEqual([
            namedByNode(scriptPubKey.type),
            scriptPubKey.address,
          ])
          seen.add(namedByNode(scriptPubKey.type))
        }
    expect([...seen].sort()).toEqual(types)
  })

  it('lead from every address to its script', () => {
    for (const [address, { scriptPubKey }] of Object.entries(oracles.addresses ?? {}))
      expect(decodeAddress(address, network)?.script.toString('hex'), address).toBe(scriptPubKey)
  })

  it('give every script what decodescript gives it, wrapped in P2SH and in segwit too', () => {
    for (const { scriptPubKey, decoded } of described) {
      if (decoded === undefined) continue
      const script = Buffer.from(scriptPubKey, 'hex')
      expect([scriptType(script, network), addressOf(script, network)]).toEqual([
        decoded.type,
        decoded.address,
      ])
      if (decoded.p2sh !== undefined) expect(addressOf(p2sh(script), network)).toBe(decoded.p2sh)
      if (decoded.segwit === undefined) continue
      const wrapped = Buffer.from(decoded.segwit.hex, 'hex')
      expect([scriptType(wrapped, network), addressOf(wrapped, network)]).toEqual([
        decoded.segwit.type,
        decoded.segwit.address,
      ])
    }
  })

  it('change the difficulty when the node does', () => {
    const { interval, isFixed } = network.retarget
    const chain = new Map(blocks.map((block) => [block.height, block]))
    const target = ({ bits }: Block): bigint => {
      const value = Number.parseInt(bits, 16)
      return BigInt(value & 0xff_ffff) << BigInt(8 * ((value >>> 24) - 3))
    }
    const limit = target(chain.get(0) as Block)
    const seconds = BigInt(interval * network.blockSpacing)
    for (const [height, block] of chain) {
      const parent = chain.get(height - 1)
      if (parent === undefined) continue
      if (isFixed === true || height % interval !== 0) expect(block.bits).toBe(parent.bits)
      const first = chain.get(height - interval)
      if (isFixed === true || interval === 1 || height % interval !== 0 || first === undefined) continue
      const took = BigInt(parent.time - first.time)
      const bounded = took < seconds / 4n ? seconds / 4n : took > 4n * seconds ? 4n * seconds : took
      const next = (target(parent) * bounded) / seconds
      expect(target(block)).toBe(next > limit ? limit : next)
    }
  })
})
