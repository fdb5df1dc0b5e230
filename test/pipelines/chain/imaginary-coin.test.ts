import { hash } from 'node:crypto'
import { bech32, bech32m, createBase58check } from '@scure/base'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { audit } from '../../../pipelines/audit/audit.js'
import { CHECKS } from '../../../pipelines/audit/checks.js'
import { type Network, NETWORKS, REGTEST } from '../../../pipelines/chain/networks.js'
import { ScriptChangesMaker } from '../../../pipelines/materialize/apply/script-changes-maker.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { Poller } from '../../../pipelines/poll/poller.js'
import { decodeChainEvent } from '../../../pipelines/events/chain-event.js'
import { NaiveState } from '../../harness/naive-state.js'
import type { SimBlock } from '../../../services/simnode/chain/sim-block.js'
import type { SimTx } from '../../../services/simnode/chain/sim-tx.js'
import { type Simnode, startSimnode } from '../../../services/simnode/node.js'
import { OWNER_KINDS } from '../../../services/simnode/wallet/keyring.js'
import { Pipeline } from '../../harness/pipeline.js'

/** It shares no value with any network of the table except the name that its node uses, as nodes of other coins do. */
const COIN: Network = {
  name: 'imaginary',
  coin: { name: 'Imaginary', unit: 'IMG', baseUnit: 'bit' },
  isTest: false,
  nodeName: 'main',
  // SHA3-256 of the header of the simulator's block 0.
  genesisHash: '887f9a635dbb40bdbd15f1a96c600b9505c236e2c5aac3f8b80641a9bbdf7b6c',
  blockHash: ['sha3-256'],
  witnessScale: 3,
  maxBlockWeight: 1_000_000,
  blockSpacing: 150,
  retarget: { interval: 10 },
  hasAnchors: true,
  firstSubsidy: 1_234_567_890n,
  halvingInterval: 12,
  maxSupply: 4_200_000_000_000_000n,
  hrp: 'imag',
  p2pkh: 31,
  p2sh: 53,
  extendedKey: 0x01020304,
  dilithium: {
    hrp: 'dimag',
    p2pkh: 32,
    p2sh: 54,
    claimsP2sh: false,
    opcodes: { checkSig: 0xc1, checkSigVerify: 0xc2, checkMultisig: 0xc3, checkMultisigVerify: 0xc4 },
  },
}

const BLOCKS = 30
const UNIT = 100_000_000n
/** More coins than the networks of the table can have. */
const MANY = 3_000_000_000_000_001n

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')
const base58check = createBase58check((bytes: Uint8Array) => Uint8Array.from(sha256(bytes)))
const base58 = (version: number, hex: string): string =>
  base58check.encode(Uint8Array.from([version, ...Buffer.from(hex, 'hex')]))
const segwit = (hrp: string, version: number, hex: string): string => {
  const coder = version === 0 ? bech32 : bech32m
  return coder.encode(hrp, [version, ...coder.toWords(Uint8Array.from(Buffer.from(hex, 'hex')))], 90)
}

/** The coin's addresses, by the shapes of their scripts alone, in hex. */
function naiveAddress(script: string, hrp = 'imag'): string | undefined {
  const [, key, last = ''] = /^76a914(.{40})88(ac|c1)$/.exec(script) ?? []
  if (key !== undefined) return base58(last === 'ac' ? 31 : 32, key)
  const [, inner] = /^a914(.{40})87$/.exec(script) ?? []
  if (inner !== undefined) return base58(53, inner)
  const [, version = '', program] = /^(00|5[123])(?:14|20)(.{40}|.{64})$/.exec(script) ?? []
  return program === undefined ? undefined : segwit(hrp, Number(version) % 50, program)
}

/** The names of an owner's outputs, and whether their spends carry a Dilithium signature. */
const KINDS: Readonly<Record<(typeof OWNER_KINDS)[number], readonly [string, boolean]>> = {
  p2wpkh: ['witness_v0_keyhash', false],
  p2pkh: ['pubkeyhash', false],
  p2tr: ['witness_v1_taproot', false],
  'p2sh-p2wpkh': ['scripthash', false],
  p2wsh: ['witness_v0_scripthash', false],
  p2pk: ['pubkey', false],
  multisig: ['multisig', false],
  p2mr: ['witness_v2_p2mr', true],
  'p2mr-plain': ['witness_v2_p2mr', false],
  'dilithium-pubkeyhash': ['dilithium_pubkeyhash', true],
  'dilithium-pubkey': ['dilithium_pubkey', true],
  'dilithium-wpkh': ['witness_v0_keyhash', true],
  'dilithium-p2sh': ['scripthash', true],
  'dilithium-p2wsh': ['witness_v0_scripthash', true],
  'dilithium-multisig': ['dilithium_multisig', true],
  nonstandard: ['nonstandard', false],
  'witness-unknown': ['witness_unknown', false],
}

/**
 * P2MR leaves that differ in the opcode behind the key, and whether that opcode checks a Dilithium signature on this
 * chain.
 */
const LEAVES: readonly (readonly [number, boolean])[] = [
  [0xc2, true],
  [0xc3, true],
  [0xc4, true],
  [0xbb, false],
  [0xbe, false],
]

const naiveWeight = ({ strippedSize, size }: Pick<SimTx, 'strippedSize' | 'size'>): number =>
  2 * strippedSize + size

describe('an imaginary coin, defined by one object of the table', () => {
  let node: Simnode
  let pipeline: Pipeline
  /** Pays an output to each kind of owner, and spends these outputs and those of the leaves. */
  let fan: SimTx
  let spends: SimTx[]
  let leafSpends: SimTx[]
  let block: SimBlock

  beforeAll(async () => {
    // The map is read-only except for this test.
    ;(NETWORKS as Map<string, Network>).set(COIN.name, COIN)
    node = await startSimnode({ network: COIN, seed: 'imaginary', blocks: BLOCKS, txsPerBlock: 6 })
    const { chain } = node
    const scripts = OWNER_KINDS.map((kind) => chain.keyring.ownerOf(kind).script)
    const p2mr = chain.keyring.ownerOf('p2mr').script
    const rich = chain.mine({ coinbaseOutputs: [{ value: MANY, script: p2mr }] })
    const from = [{ txid: chain.read(rich).txs[0]?.txid ?? '', vout: 0 }]
    const to = [...scripts, ...LEAVES.map(() => p2mr)].map((script) => ({ value: 1_000_000n, script }))
    fan = chain.pay({ from, to, change: p2mr })
    const back = { to: [], change: chain.keyring.ownerOf('p2wpkh', 1).script }
    spends = OWNER_KINDS.map((_, vout) => chain.pay({ from: [{ tx: fan, vout }], ...back }))
    leafSpends = LEAVES.map(([opcode], index) => {
      const leaf = Buffer.concat([Buffer.from('4d2005', 'hex'), Buffer.alloc(1312, 7), Buffer.from([opcode])])
      const witness = [Buffer.alloc(2420, 1), leaf, Buffer.from('c1', 'hex')]
      const unlock = () => ({ scriptSig: Buffer.alloc(0), witness })
      return chain.pay({ from: [{ tx: fan, vout: OWNER_KINDS.length + index }], ...back, unlock })
    })
    block = chain.mine({ txs: [fan, ...spends, ...leafSpends] })
    node.simulation.enter(20)
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    await pipeline.level({ tip: chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    ;(NETWORKS as Map<string, Network>).delete(COIN.name)
  })

  it('differs from the other networks in each field', () => {
    const { dilithium: others, ...rest } = REGTEST
    const { dilithium, ...own } = COIN
    for (const [name, value] of Object.entries(rest))
      expect(own[name as keyof typeof own], name).not.toEqual(value)
    for (const [name, value] of Object.entries(others ?? {}))
      expect(dilithium?.[name as keyof typeof dilithium], name).not.toEqual(value)
  })

  it('is distinguished by its block 0 from the network with the same name at the node, and has a name of its own', async () => {
    const [first] = await pipeline.log.read('chain', 0, 1)
    expect(decodeChainEvent(first?.value ?? Buffer.alloc(0)).event.value).toMatchObject({
      chain: 'imaginary',
    })
    const heads = await pipeline.db.query<{ chain: string }>('SELECT DISTINCT chain FROM heads')
    expect(heads).toEqual([{ chain: 'imaginary' }])
    const client = new NodeClient(node.url)
    expect(await client.chainInfo()).toMatchObject({ chain: 'main' })
    const options = { node: client, log: pipeline.log, pollIntervalMs: 1000, inFlight: 1 }
    const poller = new Poller({ ...options, chain: 'btq-main', logger: pino({ level: 'silent' }) })
    await expect(poller.pollOnce()).rejects.toThrow(/follows chain imaginary .*, not btq-main:/)
    client.close()
  })

  it('has its own hashes, times, weights and subsidies of blocks', async () => {
    const { chain } = node
    for (const height of [0, 1, 11, 12, 23, 24, block.height]) {
      const sim = chain.at(height)
      if (sim === undefined) throw new RangeError(`no block ${String(height)}`)
      const { raw, strippedSize, txs } = chain.read(sim)
      const computed = hash('sha3-256', raw.subarray(0, 80), 'buffer').reverse().toString('hex')
      const paid = txs[0]?.outputs.find(({ script }) => naiveAddress(script.toString('hex')) !== undefined)
      const { body } = await pipeline.get(`/block/${String(height)}`)
      expect(body).toMatchObject({
        hash: computed,
        prev_hash: chain.at(height - 1)?.hash ?? '0'.repeat(64),
        weight: naiveWeight({ strippedSize, size: raw.length }),
        subsidy: String(1_234_567_890n >> BigInt(Math.floor(height / 12))),
        timestamp: new Date((1_771_804_800 + 150 * height) * 1000).toISOString(),
        miner_address: paid === undefined ? null : (naiveAddress(paid.script.toString('hex')) ?? null),
      })
    }
    expect((await pipeline.get('/block/0')).body.hash).toBe(COIN.genesisHash)
  })

  it('has its own weights, types, addresses and Dilithium spends of transactions', async () => {
    const flags: readonly boolean[] = [
      true,
      ...OWNER_KINDS.map((kind) => KINDS[kind][1]),
      ...LEAVES.map(([, is]) => is),
    ]
    for (const [index, tx] of [fan, ...spends, ...leafSpends].entries()) {
      const { body } = await pipeline.get(`/tx/${tx.txid}`)
      const weight = naiveWeight(tx)
      expect(body, OWNER_KINDS[index - 1]).toMatchObject({
        weight,
        vsize: Math.ceil(weight / 3),
        is_dilithium: flags[index],
        outputs: tx.outputs.map(({ script }) => {
          const address = naiveAddress(script.toString('hex'))
          return { addresses: address === undefined ? [] : [{ address }] }
        }),
      })
    }
    const { outputs } = (await pipeline.get(`/tx/${fan.txid}`)).body
    const types = outputs.map((output: { script_type: string }) => output.script_type)
    expect(types.slice(0, OWNER_KINDS.length)).toEqual(OWNER_KINDS.map((kind) => KINDS[kind][0]))
  })

  it('has its own spellings of addresses, each of which leads to the history of its script', async () => {
    const fold = new NaiveState(node.chain)
    const balances = fold.balances()
    const found = new Set<string>()
    const check = async (address: string, script: string): Promise<{ isDilithium: boolean }> => {
      const { body } = await pipeline.get(`/address/${address}`)
      expect(body, address).toMatchObject({
        balance: (balances.get(script) ?? 0n).toString(),
        tx_count: fold.history(script).length,
      })
      return body
    }
    const checkAll = async (script: string): Promise<void> => {
      const address = naiveAddress(script)
      if (address === undefined) return
      found.add(address.slice(0, 4))
      await check(address, script)
      if (script.startsWith('a914')) await check(base58(54, script.slice(4, 44)), script)
      if (script.startsWith('0014'))
        expect(await check(naiveAddress(script, 'dimag') ?? '', script)).toMatchObject({ isDilithium: true })
    }
    const scripts = [...fold.scripts()]
    while (scripts.length > 0) await Promise.all(scripts.splice(0, 16).map(checkAll))
    expect(found.size).toBeGreaterThan(4)
    const foreign = segwit('qcrt', 0, '11'.repeat(20))
    expect((await pipeline.get(`/address/${foreign}`)).status).toBe(400)
  })

  it('has its own supply, beyond that of the others', async () => {
    const fold = new NaiveState(node.chain)
    expect(fold.supply).toBeGreaterThan(21_000_000n * UNIT)
    expect((await pipeline.get('/stats/supply')).body).toEqual({
      circulatingSupply: fold.supply.toString(),
      utxoCount: fold.utxos().size,
      maxSupply: '4200000000000000',
    })
  })

  it('has its own weights of unconfirmed transactions', async () => {
    const entries = [...node.simulation.mempool.entries()]
    expect(entries.length).toBeGreaterThan(5)
    const { items } = (await pipeline.get('/mempool/txs?limit=100')).body
    const weights = new Map(
      items.map((item: Record<string, unknown>) => [item['txid'], [item['weight'], item['vsize']]]),
    )
    for (const { tx } of entries) {
      const weight = naiveWeight(tx)
      expect(weights.get(tx.txid)).toEqual([weight, Math.ceil(weight / 3)])
      expect((await pipeline.get(`/tx/${tx.txid}`)).body).toMatchObject({
        weight,
        vsize: Math.ceil(weight / 3),
      })
    }
  })

  it('is decoded by a worker thread that does not have the coin in its table', async () => {
    const events = (await pipeline.log.read('chain', 1, 20)).map(({ position, value }) => ({
      position,
      value,
    }))
    const maker = new ScriptChangesMaker()
    try {
      const { scriptChanges } = await maker.make(events, COIN)
      expect(scriptChanges.blocks.map(({ row }) => row.hash)).toEqual(
        events.map((_, height) => node.chain.at(height)?.hash),
      )
      expect(scriptChanges.blocks.at(-1)?.row.subsidy).toBe(617_283_945n)
    } finally {
      await maker.close()
    }
  })

  it('passes the audit', async () => {
    const client = new NodeClient(node.url)
    const logger = pino({ level: 'silent' })
    const { signal } = new AbortController()
    const report = await audit(
      { db: pipeline.db, log: pipeline.log, node: client, logger, signal, patienceMs: 5_000 },
      { sample: 25, seed: 'imaginary', checks: CHECKS },
    )
    client.close()
    expect(report.checks.flatMap(({ differences }) => differences)).toEqual([])
    expect(report.checks.find(({ name }) => name === 'blocks')?.checked).toBeGreaterThan(20)
  })

  // The last test: it changes the chain.
  it('has blocks above its limit of weight indexed, because the index follows its node', async () => {
    const { chain } = node
    const data = Buffer.alloc(340_000, 1)
    data.set([0x6a, 0x4e])
    data.writeUInt32LE(data.length - 6, 2)
    const from = [{ tx: fan, vout: fan.outputs.length - 1 }]
    const to = [{ value: 0n, script: data }]
    const change = chain.keyring.ownerOf('p2tr').script
    chain.mine({ txs: [chain.pay({ from, to, change })] })
    await pipeline.level({ tip: chain.tip.hash })
    expect((await pipeline.get('/blocks/tip')).body.weight).toBeGreaterThan(COIN.maxBlockWeight)
  })
})
