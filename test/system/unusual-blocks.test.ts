import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { addressOf } from '../../pipelines/chain/address.js'
import { REGTEST } from '../../pipelines/chain/networks.js'
import type { TxOutput } from '../../pipelines/chain/transaction.js'
import { ReadsService } from '../../proto/gen/headwater/reads/v1/reads_pb.js'
import { rpcClient } from '../../services/rpc/client.js'
import type { SimBlock } from '../../services/simnode/chain/sim-block.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { sealTx, type SimTx } from '../../services/simnode/chain/sim-tx.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Pipeline } from '../harness/pipeline.js'
import { send } from '../services/explorer/faces/graphql/client.js'

const UNSIGNED = 0xffff_ffff

/** Blocks and transactions that a node accepts and few programs make. */
describe('the figures of unusual blocks', () => {
  let folder: string
  let chain: SimChain
  let node: Simnode
  let pipeline: Pipeline
  const script = (kind: 'p2wpkh' | 'p2pkh' | 'p2pk' | 'p2mr', index = 0): Buffer =>
    chain.keyring.ownerOf(kind, index).script
  const address = (of: Buffer): string => addressOf(of, REGTEST) ?? ''
  const [pool, other] = [() => script('p2wpkh', 1), () => script('p2pkh', 2)]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-unusual-'))
    chain = buildChain({ seed: 'unusual', blocks: 12 })
    const pools = join(folder, 'pools.json')
    const one = { name: 'One', addresses: [address(pool())], tags: ['/one/'], link: '' }
    const two = { name: 'Two', addresses: [address(script('p2mr', 3))], tags: ['/two/'], link: '' }
    await writeFile(pools, JSON.stringify([one, two]))
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: 3,
      explorer: { definitions: { pools }, grpcPort: 0 },
    })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Returns the largest output of the coinbase of a block. */
  function coinOf(height: number): { txid: string; vout: number } {
    const [coinbase] = chain.read(chain.at(height) as SimBlock).txs
    const values = coinbase?.outputs.map(({ value }) => Number(value)) ?? []
    return { txid: coinbase?.txid ?? '', vout: values.indexOf(Math.max(...values)) }
  }

  const level = (): Promise<void> => pipeline.level({ tip: chain.tip.hash })
  const get = async (path: string) => (await pipeline.get(path)).body
  const operation = async (query: string) => {
    const { data, errors } = await send(pipeline.url, { query })
    expect(errors).toEqual([])
    return data
  }

  describe('have a miner by the outputs that receive value, the largest first', () => {
    const paid = (value: bigint, of: Buffer): TxOutput => ({ value, script: of })
    const second = (): Buffer => script('p2mr', 3)
    const nobody = (): undefined => undefined
    type Payee = () => Buffer | undefined

    it.each<[string, () => readonly TxOutput[], string, { readonly miner: Payee; readonly pool: Payee }]>([
      [
        '546 units elsewhere first',
        () => [paid(546n, other()), paid(5_000n, pool())],
        'One',
        { miner: pool, pool },
      ],
      [
        'a mining pool less than others',
        () => [paid(9_000n, other()), paid(5_000n, pool())],
        'One',
        { miner: other, pool },
      ],
      [
        '0 to the address of a mining pool first',
        () => [paid(0n, pool()), paid(5n, other())],
        'Two',
        { miner: other, pool: other },
      ],
      ['nothing', () => [paid(0n, pool())], 'Two', { miner: nobody, pool: nobody }],
      [
        'most to a key without address',
        () => [paid(9n, script('p2pk')), paid(1n, pool())],
        'One',
        { miner: pool, pool },
      ],
      [
        'two mining pools',
        () => [paid(1n, pool()), paid(2n, second())],
        'Two',
        { miner: second, pool: second },
      ],
      [
        'two mining pools the same',
        () => [paid(2n, pool()), paid(2n, second())],
        'One',
        { miner: pool, pool },
      ],
    ])('of a coinbase that pays %s', async (_, outputs, name, payees) => {
      const { hash } = chain.mine({ coinbaseOutputs: outputs(), tag: '/two/' })
      await level()
      const addressOrNull = (payee: Payee): string | null =>
        addressOf(payee() ?? Buffer.alloc(0), REGTEST) ?? null
      expect(await get(`/block/${hash}`)).toMatchObject({
        miner_label: name,
        miner_address: addressOrNull(payees.miner),
      })
      const { pools } = await get('/mining/pools?window=1')
      expect(pools).toMatchObject([{ name, blockCount: 1, address: addressOrNull(payees.pool) }])
    })
  })

  it('have unsigned versions in every face', async () => {
    const from = [coinOf(1)]
    const change = script('p2wpkh', 5)
    const tx = sealTx({ ...chain.pay({ from, to: [], change }), version: UNSIGNED, locktime: 7 })
    const block = chain.mine({ txs: [tx], version: 0xfedc_ba98 })
    await level()
    expect((await get(`/block/${block.hash}`)).version).toBe(0xfedc_ba98)
    expect(await get(`/tx/${tx.txid}`)).toMatchObject({ version: UNSIGNED, locktime: '7' })
    const query = `{ tip { version } transaction(txid: "${tx.txid}") { version } }`
    expect(await operation(query)).toEqual({
      tip: { version: 0xfedc_ba98 },
      transaction: { version: UNSIGNED },
    })
    const client = rpcClient(ReadsService, pipeline.grpcAddress)
    try {
      expect((await client.tip({})).block?.version).toBe(0xfedc_ba98n)
      expect((await client.transaction({ txid: tx.txid })).transaction?.version).toBe(4_294_967_295n)
    } finally {
      client.close()
    }
    // The hashes of header and transaction are those of the node.
    expect((await get('/blocks/tip')).hash).toBe(chain.tip.hash)
  })

  it('have as text what an OP_RETURN output pushes', async () => {
    const cases: readonly (readonly [string, string, string | null])[] = [
      ['6a', '', null],
      ['6a51', '51', null],
      ['6a0568656c6c6f', '68656c6c6f', 'hello'],
      ['6a026865036c6c6f', '68656c6c6f', 'hello'],
      ['6a4d050068656c6c6f', '68656c6c6f', 'hello'],
      ['6a5d0568656c6c6f', '5d0568656c6c6f', 'hello'],
      ['6a20616263', '20616263', null],
      ['6a01ff', 'ff', null],
    ]
    const coinbaseOutputs = cases.map(([hex]) => ({ value: 0n, script: Buffer.from(hex, 'hex') }))
    const { hash } = chain.mine({ coinbaseOutputs })
    await level()
    const { items } = await get('/op-returns?limit=8')
    const expected = cases.map(([, data_hex, data_text], vout) => {
      return { vout, data_hex, data_text, size: data_hex.length / 2 }
    })
    expect(items).toMatchObject(expected.toReversed())
    const { txid } = (await get(`/block/${hash}/txs`)).items[0]
    expect((await get(`/op-return/${txid}`)).items).toMatchObject(expected)
    const page = await fetch(`${pipeline.url}/tx/${String(txid)}`, { headers: { accept: 'text/html' } })
    const html = await page.text()
    expect(html.match(/class="payload">hello</g)).toHaveLength(4)
    expect(html).not.toContain('class="payload">Q<')
  })

  it('have coinbase outputs that are marked in every list of unspent outputs', async () => {
    const payTo = script('p2wpkh', 9)
    chain.mine({ payTo })
    const from = [coinOf(2)]
    const tx = chain.pay({ from, to: [{ value: 1_000n, script: payTo }], change: script('p2wpkh', 5) })
    chain.mine({ txs: [tx], payTo: script('p2wpkh', 5) })
    await level()
    const path = `/address/${address(payTo)}/utxos`
    for (const query of ['', '?mempool=true']) {
      const { items } = await get(path + query)
      const marks = items.map(({ txid, is_coinbase }: { txid: string; is_coinbase: boolean }) => [
        txid === tx.txid,
        is_coinbase,
      ])
      expect(marks).toEqual([
        [true, false],
        [false, true],
      ])
    }
    const shown = await fetch(`${pipeline.url}/address/${address(payTo)}?show=utxos`, {
      headers: { accept: 'text/html' },
    })
    const [, second] = (await get(path)).items
    const matures = `spendable from block ${String(second.block_height + 100)}`
    expect((await shown.text()).split('new coins').slice(1)).toEqual([expect.stringContaining(matures)])
    const query = `{ addressUtxos(address: "${address(payTo)}") { items { is_coinbase } } }`
    const marked = { items: [{ is_coinbase: false }, { is_coinbase: true }] }
    expect((await operation(query)).addressUtxos).toEqual(marked)
    const client = rpcClient(ReadsService, pipeline.grpcAddress)
    try {
      const { items } = await client.addressUtxos({ address: address(payTo) })
      expect(items.map(({ isCoinbase }) => isCoinbase)).toEqual([false, true])
    } finally {
      client.close()
    }
  })

  describe('are found by their beginning', () => {
    interface Found {
      readonly type: string
      readonly value: string
      readonly confirmed: boolean
    }
    const search = async (q: string, limit = 50): Promise<readonly Found[]> =>
      (await get(`/search/prefix?limit=${String(limit)}&q=${q}`)).items

    it('with every txid, hash and address of the chain, and only those', async () => {
      await level()
      const blocks = Array.from({ length: chain.tip.height + 1 }, (_, height) => chain.at(height) as SimBlock)
      const txs = blocks.flatMap((block) => chain.read(block).txs.map(({ txid }) => txid))
      const paid = blocks
        .slice(1)
        .flatMap((block) =>
          chain.read(block).txs.flatMap(({ outputs }) => outputs.map((each) => each.script)),
        )
      const addresses = new Set(paid.map(address).filter((each) => each !== ''))
      expect(addresses.size).toBeGreaterThan(5)
      const beginning = (values: Iterable<string>, q: string): string[] =>
        [...values].filter((value) => value.startsWith(q)).sort()
      const of = (found: readonly Found[], type: string): string[] =>
        found
          .filter((each) => each.type === type)
          .map(({ value }) => value)
          .sort()
      for (const txid of txs)
        for (const length of [4, 5, 15, 16, 17, 63, 64])
          expect(of(await search(txid.slice(0, length)), 'transaction')).toEqual(
            beginning(txs, txid.slice(0, length)),
          )
      for (const { hash } of blocks) {
        expect(of(await search(hash.slice(0, 7).toUpperCase()), 'block')).toContain(hash)
        expect(of(await search(hash.slice(-7)), 'block')).toContain(hash)
      }
      for (const each of addresses)
        for (const q of [each.slice(0, 10), each.slice(0, 20), each.slice(0, -1), each])
          expect(of(await search(q), 'address'), q).toEqual(beginning(addresses, q))
      const [witness = ''] = [...addresses].filter((each) => each.startsWith('qcrt1q'))
      expect(of(await search(witness.slice(0, 14).toUpperCase()), 'address')).toContain(witness)
      const dilithium = `rdbt1${witness.slice(5, 14)}`
      expect(of(await search(dilithium), 'address')).toContain(witness)
    })

    it('without blocks, transactions and addresses that a reorganisation removed', async () => {
      const payTo = script('p2wpkh', 77)
      const stale = chain.mine({ payTo })
      await level()
      const [coinbase] = chain.read(stale).txs
      const queries = [
        stale.hash.slice(0, 20),
        coinbase?.txid.slice(0, 20) ?? '',
        address(payTo).slice(0, 20),
      ]
      for (const q of queries) expect(await search(q)).toHaveLength(1)
      const fork = forkAt(chain, stale.height - 1)
      for (let block = 0; block < 2; block++) fork.mine({ payTo: script('p2wpkh', 5) })
      fork.activate()
      await level()
      for (const q of queries) expect(await search(q), q).toEqual([])
      // The address is known to the tables already when the chain pays it again.
      chain.mine({ payTo })
      await level()
      expect(await search(queries[2] ?? '')).toEqual([
        { type: 'address', value: address(payTo), confirmed: true },
      ])
    })

    it('with transactions of the mempool, which are not confirmed', async () => {
      const from = [coinOf(3)]
      const tx: SimTx = chain.pay({ from, to: [], change: script('p2wpkh', 5) })
      const q = tx.txid.slice(0, 12)
      expect(await search(q)).toEqual([])
      const accepted = node.simulation.mempool.accept(tx)
      expect(accepted).toBeTruthy()
      await pipeline.level({ tip: chain.tip.hash, mempoolSize: node.simulation.mempool.size })
      expect(await search(q)).toEqual([{ type: 'transaction', value: tx.txid, confirmed: false }])
    })

    it('as suggestions of the search on pages', async () => {
      const tx = chain.read(chain.tip).txs[0]?.txid ?? ''
      const html = await fetch(`${pipeline.url}/search?q=${tx.slice(0, 12)}`, {
        headers: { accept: 'text/html' },
      })
      expect(await html.text()).toContain(`href="/tx/${tx}"`)
    })
  })
})
