import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { naiveBlocks } from '../harness/naive-fees.js'
import { NaiveWallet, rootOfProof } from '../harness/naive-wallet.js'
import { baseUnits, type NodeBlock, type NodeTx } from '../harness/node-json.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { IS_WHOLE } from '../harness/whole.js'

const FINALITY = 20
/** The depth of the reorganisation of each round; one goes below the final height. */
const DEPTHS = IS_WHOLE ? [1, 3, FINALITY + 4, 2] : [1, 3, FINALITY + 4]
const TXS_CHECKED = 12
const ADDRESSES_CHECKED = 8
const UNSEEN = 'qcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrehzm8'
/** The weight that a projected block leaves for header and coinbase. */
const RESERVED = 16_000

describe('what wallets ask for, on a chain with reorganisations', () => {
  let node: Simnode
  let pipeline: Pipeline
  const chain = new NaiveChain()
  let mempool: NodeTx[] = []
  let reorgs: { fork_height: number; disconnected: string[]; connected: string[] }[] = []

  beforeAll(async () => {
    node = await startSimnode({ seed: 'wallets', blocks: 50, txsPerBlock: 4 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0, grpcPort: 0 },
    })
    await level()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  /** Follows the node, and computes everything again from its blocks. */
  async function level(): Promise<void> {
    await follow(chain, node)
    const txids = await callNode<string[]>(node, 'getrawmempool')
    mempool = await Promise.all(txids.map((txid) => callNode<NodeTx>(node, 'getrawtransaction', txid, 2)))
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: mempool.length })
  }

  const post = (path: string, body: unknown) =>
    fetch(`${pipeline.url}/api/v1${path}`, { method: 'POST', body: JSON.stringify(body) })

  async function checkTransactions(wallet: NaiveWallet): Promise<void> {
    const newest = chain.blocks.slice(-6).flatMap((block) => block.tx)
    const spent = newest.flatMap(({ vin }) => vin.flatMap(({ txid }) => (txid === undefined ? [] : [txid])))
    const checked = new Set([...mempool, ...newest].map(({ txid }) => txid).concat(spent))
    for (const txid of [...checked].slice(0, TXS_CHECKED)) {
      const block = wallet.blockOf.get(txid)
      const { body: tx } = await pipeline.get(`/tx/${txid}`)
      expect((await pipeline.get(`/tx/${txid}/status`)).body).toEqual({
        txid,
        confirmed: block !== undefined,
        block_hash: block?.hash ?? null,
        block_height: block?.height ?? null,
        timestamp: tx.timestamp,
        tx_index: block?.tx.findIndex((each) => each.txid === txid) ?? null,
      })
      expect((await pipeline.get(`/tx/${txid}/hex`)).body).toEqual({
        txid,
        hex: await callNode(node, 'getrawtransaction', txid, 0),
      })
      const { items } = (await pipeline.get(`/tx/${txid}/outspends`)).body
      expect(items).toHaveLength(tx.output_count)
      for (const [vout, item] of items.entries()) {
        const spender = wallet.spender(txid, vout)
        expect(item, `${txid}:${String(vout)}`).toEqual({
          vout,
          spent: spender !== undefined,
          spent_txid: spender?.txid ?? null,
          spent_vin: spender?.vin ?? null,
          block_height: spender?.height ?? null,
        })
      }
      await checkProof(txid, block)
    }
    expect((await pipeline.get(`/tx/${'ab'.repeat(32)}/outspends`)).status).toBe(404)
  }

  async function checkProof(txid: string, block: NodeBlock | undefined): Promise<void> {
    const proof = await pipeline.get(`/tx/${txid}/merkle-proof`)
    if (block === undefined) {
      expect(proof).toMatchObject({ status: 404, body: { error: 'Transaction is not confirmed' } })
      return
    }
    const { tx_index, merkle, merkle_root, block_hash } = proof.body
    const header = await callNode<string>(node, 'getblockheader', block.hash, false)
    const root = Buffer.from(header.slice(72, 136), 'hex').reverse().toString('hex')
    expect(block_hash).toBe(block.hash)
    expect(merkle_root).toBe(root)
    expect(rootOfProof(txid, tx_index, merkle)).toBe(root)
    expect(merkle).toHaveLength(Math.ceil(Math.log2(block.tx.length)))
  }

  /** Returns addresses of the mempool and of the newest blocks, each with its script. */
  function recentAddresses(): [address: string, script: string][] {
    const txs = [...mempool, ...chain.blocks.slice(-5).flatMap((block) => block.tx)]
    const found = new Map<string, string>()
    for (const { vin, vout } of txs) {
      for (const { prevout } of vin)
        if (prevout?.scriptPubKey.address !== undefined)
          found.set(prevout.scriptPubKey.address, prevout.scriptPubKey.hex)
      for (const { scriptPubKey } of vout)
        if (scriptPubKey.address !== undefined) found.set(scriptPubKey.address, scriptPubKey.hex)
    }
    return [...found].slice(0, ADDRESSES_CHECKED)
  }

  async function checkUnspent(wallet: NaiveWallet): Promise<void> {
    for (const [address, script] of recentAddresses()) {
      const expected = wallet.unspent(script)
      for (const limit of [3, 500]) {
        const items = []
        for (let offset = 0; offset === 0 || offset < expected.length; offset += limit) {
          const query = `mempool=true&limit=${String(limit)}&offset=${String(offset)}`
          const { body } = await pipeline.get(`/address/${address}/utxos?${query}`)
          expect(body.total, address).toBe(expected.length)
          expect(body.items).toHaveLength(Math.min(limit, expected.length - offset))
          items.push(...body.items)
        }
        const shown = items.map(({ txid, vout, block_height, value, is_coinbase }) => {
          return { txid, vout, height: block_height, value, is_coinbase }
        })
        const confirmed = shown.filter(({ height }) => height !== null)
        expect(confirmed).toEqual(expected.filter(({ height }) => height !== null))
        // Those of the mempool are in the order of their arrival.
        expect(new Set(shown.map((each) => JSON.stringify(each)))).toEqual(
          new Set(expected.map((each) => JSON.stringify(each))),
        )
        expect(shown.slice(0, shown.length - confirmed.length).every(({ height }) => height === null)).toBe(
          true,
        )
      }
    }
  }

  async function checkSummaries(): Promise<void> {
    const addresses = recentAddresses().map(([address]) => address)
    const requested = [...addresses, 'not an address', UNSEEN, addresses[0]!]
    const response = await post('/addresses', { addresses: requested })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-chain-tip')).toBe(node.chain.tip.hash)
    const { items } = (await response.json()) as { items: Record<string, unknown>[] }
    const expected = await Promise.all(
      requested.map(async (address) => {
        const { status, body } = await pipeline.get(`/address/${encodeURIComponent(address)}`)
        if (status === 200) return { address, summary: body, error: null, code: null }
        return { address, summary: null, error: body.error, code: body.code ?? 'HW_ADDRESS_NOT_FOUND' }
      }),
    )
    expect(items).toEqual(expected)
    for (const [address, script] of recentAddresses()) {
      const entry = items.find((each) => each['address'] === address)
      if (chain.history.get(script)?.length)
        expect(entry!['summary']).toMatchObject({ balance: String(chain.balance(script)) })
    }
  }

  async function checkFees(): Promise<void> {
    const entries = await callNode<
      Record<string, { vsize: number; weight: number; fees: { base: number }; depends: string[] }>
    >(node, 'getrawmempool', true)
    const txs = Object.entries(entries).map(([txid, { vsize, weight, fees, depends }]) => {
      return { txid, vsize, weight, depends, fee: baseUnits(fees.base) }
    })
    const naive = naiveBlocks(txs, node.chain.network.maxBlockWeight - RESERVED, 8)
    const { items } = (await pipeline.get('/mempool/blocks')).body
    expect(items.map((each: object) => ({ ...each }))).toMatchObject(
      naive.map(({ txids, vsize, weight, fees }) => {
        return { txCount: txids.size, totalVsize: vsize, totalWeight: weight, totalFees: String(fees) }
      }),
    )
    const history = (await pipeline.get('/fees/history?limit=30')).body.items as Record<string, string>[]
    const newest = chain.blocks.slice(-30).reverse()
    expect(history).toHaveLength(newest.length)
    for (const [index, block] of newest.entries()) {
      const fees = block.tx.slice(1).reduce((sum, tx) => sum + baseUnits(tx.fee ?? 0), 0n)
      const { average_fee_rate, fullness, ...others } = history[index]!
      expect(others).toEqual({
        height: block.height,
        timestamp: new Date(block.time * 1000).toISOString(),
        tx_count: block.tx.length,
        total_fees: String(fees),
        average_fee: String(block.tx.length === 1 ? 0n : fees / BigInt(block.tx.length - 1)),
      })
      expect(Math.abs(Number(average_fee_rate) - Number(fees) / Math.ceil(block.weight / 16))).toBeLessThan(
        0.0051,
      )
      expect(Math.abs(Number(fullness) - block.weight / 80_000)).toBeLessThan(0.0101)
    }
    // The mempool is far from filling a block.
    expect((await pipeline.get('/fees/recommended')).body).toEqual({
      minimumFeeRate: '1.00',
      relayFeeRate: '1.00',
      incrementalFeeRate: '1.00',
      items: [1, 3, 6, 12, 30].map((blocks) => ({ blocks, feeRate: '1.00' })),
    })
  }

  async function checkReorgs(): Promise<void> {
    const { body } = await pipeline.get('/reorgs?limit=100')
    expect(body.total).toBe(reorgs.length)
    const shown = body.items.map(
      (item: {
        fork_height: number
        disconnected: { height: number; hash: string }[]
        connected: { height: number; hash: string }[]
      }) => {
        expect(item.disconnected.map(({ height }) => height)).toEqual(
          item.disconnected.map((_, index) => item.fork_height + item.disconnected.length - index),
        )
        expect(item.connected.map(({ height }) => height)).toEqual(
          item.connected.map((_, index) => item.fork_height + 1 + index),
        )
        return {
          fork_height: item.fork_height,
          disconnected: item.disconnected.map(({ hash }) => hash),
          connected: item.connected.map(({ hash }) => hash),
        }
      },
    )
    expect(shown).toEqual([...reorgs].reverse())
    expect(body.items.map(({ seq }: { seq: number }) => seq)).toEqual(
      reorgs.map((_, index) => reorgs.length - index),
    )
    if (reorgs.length > 2) {
      const { items } = (await pipeline.get('/reorgs?limit=2&page=2')).body
      expect(items).toEqual(body.items.slice(2, 4))
    }
  }

  it('is what a naive computation from the blocks of the node says, after each reorganisation', async () => {
    for (const depth of DEPTHS) {
      node.simulation.enter(6)
      node.simulation.replace(1)
      await level()
      if (IS_WHOLE || depth === 1) await check()
      const before = chain.blocks.map(({ hash }) => hash)
      node.simulation.reorg(depth)
      await level()
      const after = chain.blocks.map(({ hash }) => hash)
      const fork = before.findIndex((hash, height) => after[height] !== hash)
      reorgs = [
        ...reorgs,
        {
          fork_height: fork - 1,
          disconnected: before.slice(fork).reverse(),
          connected: after.slice(fork),
        },
      ]
      await check()
      node.simulation.enter(2)
      node.simulation.mine({ blocks: 2 })
    }
  })

  async function check(): Promise<void> {
    const wallet = new NaiveWallet(chain.blocks, mempool)
    await checkTransactions(wallet)
    await checkUnspent(wallet)
    await checkSummaries()
    await checkFees()
    await checkReorgs()
  }

  it('refuses lists of addresses that are none, too long or too large', async () => {
    const refused = 'addresses must be a list of 1 to 1000 addresses'
    for (const addresses of [
      undefined,
      'x',
      {},
      [],
      [5],
      [[UNSEEN]],
      Array.from({ length: 1_001 }, () => UNSEEN),
    ]) {
      const response = await post('/addresses', { addresses })
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: refused, code: 'HW_INVALID_ARGUMENT' })
    }
    for (const body of [[], 'x', null]) {
      const response = await post('/addresses', body)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: 'body must be a JSON object' })
    }
    const large = await post('/addresses', { addresses: ['x'.repeat(300_000)] })
    expect([large.status, await large.json()]).toMatchObject([413, { code: 'HW_BODY_TOO_LARGE' }])
    const get = await getAnswer(`${pipeline.url}/api/v1/addresses`)
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })

  it('answers a thousand addresses, and lets others be answered meanwhile', async () => {
    // Replaced blocks have others.
    const addresses = [...chain.history].flatMap(([script, rows]) => {
      const address = chain.addressOf.get(script)
      return address === undefined || rows.length === 0 ? [] : [address]
    })
    const many = Array.from({ length: 1_000 }, (_, index) => addresses[index % addresses.length]!)
    const [response, other] = await Promise.all([
      post('/addresses', { addresses: many }),
      getAnswer(`${pipeline.url}/api/v1/address/${addresses[0]!}`),
    ])
    expect(other.status).toBe(200)
    const { items } = (await response.json()) as { items: { address: string; summary: object | null }[] }
    expect(items.map(({ address }) => address)).toEqual(many)
    expect(items.every(({ summary }) => summary !== null)).toBe(true)
  })
})
