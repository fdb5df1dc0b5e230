import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { baseUnits } from '../harness/node-json.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { type Frame, readFrames, readOracles, TIMELINE } from '../harness/recording.js'
import { sampled, sampledByKind } from '../harness/whole.js'

const IS_WHOLE = process.env['RECORDING_EVERY_FRAME'] === '1'
/** In CI, three of the nine reorganisations are compared, and a few addresses of each compared frame. */
const REORGS_PER_COMPARED = IS_WHOLE ? 1 : 4
const MAX_ADDRESSES = IS_WHOLE ? Number.POSITIVE_INFINITY : 6
const READER_PAUSE_MS = IS_WHOLE ? 20 : 120

/**
 * Reads all the time while the chain is indexed, and compares each answer with the figures of the tip that it names.
 */
class Reader {
  readonly faults: string[] = []
  reads = 0
  #stopped = false
  #done: Promise<void> | undefined

  constructor(
    private readonly pipeline: Pipeline,
    private readonly oracle: NaiveChain,
  ) {}

  start(): void {
    this.#done = this.#loop()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) {
      const supply = await this.pipeline.get('/stats/supply')
      const figures = this.oracle.figures.get(supply.tip)
      this.reads++
      if (figures !== undefined && supply.status === 200) {
        if (
          supply.body.circulatingSupply !== figures.supply.toString() ||
          supply.body.utxoCount !== figures.utxoCount
        )
          this.faults.push(`supply of ${supply.tip}: ${JSON.stringify(supply.body)}`)
      }
      const tip = await this.pipeline.get('/blocks/tip')
      this.reads++
      if (tip.status === 200 && tip.body.hash !== tip.tip)
        this.faults.push(`tip ${String(tip.body.hash)} under ${tip.tip}`)
      // The pipeline runs in this process too: without a pause the reader would use most of its time.
      await sleep(READER_PAUSE_MS)
    }
  }
}

describe('the recording of a real node', () => {
  const frames = readFrames()
  const oracles = readOracles()
  const chain = new NaiveChain()
  let pipeline: Pipeline
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let reader: Reader

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: 0 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 100 })
    reader = new Reader(pipeline, chain)
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function checkFrame(frame: Frame, touched: Set<string>): Promise<void> {
    const figures = chain.figures.get(frame.chaininfo.bestblockhash)
    if (figures === undefined) throw new Error('the oracle does not know this tip')
    const [tip, pool, summary, supply] = await Promise.all(
      ['/blocks/tip', '/mempool/summary', '/stats/summary', '/stats/supply'].map((path) =>
        pipeline.get(path),
      ),
    )
    expect(tip?.body).toMatchObject({
      hash: frame.chaininfo.bestblockhash,
      height: frame.chaininfo.blocks,
      canonical: true,
    })
    expect(pool?.body).toMatchObject({
      txCount: frame.mempoolinfo.size,
      totalVsize: frame.mempoolinfo.bytes,
      totalFees: baseUnits(frame.mempoolinfo.total_fee).toString(),
    })
    expect(summary?.body).toMatchObject({
      tipHeight: figures.height,
      tipHash: frame.chaininfo.bestblockhash,
      totalTransactions: figures.transactions,
      activeAddresses: figures.fundedAddresses,
      mempoolSize: frame.mempoolinfo.size,
    })
    expect(supply?.body).toMatchObject({
      circulatingSupply: figures.supply.toString(),
      utxoCount: figures.utxoCount,
    })
    for (const script of [...touched].slice(-MAX_ADDRESSES)) {
      const address = chain.addressOf.get(script)
      if (address === undefined) continue
      const answer = await pipeline.get(`/address/${address}`)
      const rows = chain.history.get(script) ?? []
      if (rows.length === 0) {
        // Never used, or used in the mempool alone.
        if (answer.status !== 404) expect(answer.body, address).toMatchObject({ balance: '0', tx_count: 0 })
        continue
      }
      expect(answer.body, address).toMatchObject({
        balance: chain.balance(script).toString(),
        tx_count: rows.length,
        unspent_count: chain.utxos(script).length,
      })
    }
  }

  it(
    'equals the node at every frame that is compared, while readers see no state in between',
    async () => {
      reader.start()
      const touched = new Set<string>()
      let [at, reorgs] = [0, 0]
      for (const [index, frame] of frames.entries()) {
        for (const hash of frame.disconnected) {
          expect(chain.tip?.hash).toBe(hash)
          for (const script of chain.pop()) touched.add(script)
        }
        for (const { block } of frame.connected) for (const script of chain.push(block)) touched.add(script)
        const isReorg = frame.type === 'reorg' && reorgs++ % REORGS_PER_COMPARED === 0
        if (!IS_WHOLE && index !== 0 && !isReorg && index !== frames.length - 1) continue
        // The frame before a reorganisation is indexed first, so that there is something to reorganise.
        if (isReorg && at < index - 1) {
          node.step(index - 1 - at)
          at = index - 1
          await pipeline.level()
        }
        node.step(index - at)
        at = index
        await pipeline.level({
          tip: frame.chaininfo.bestblockhash,
          mempoolSize: frame.mempoolinfo.size,
          poolFees: baseUnits(frame.mempoolinfo.total_fee),
        })
        await checkFrame(frame, touched)
        touched.clear()
      }
      await reader.stop()
      expect(reader.faults).toEqual([])
      expect(reader.reads).toBeGreaterThan(IS_WHOLE ? 100 : 40)
    },
    IS_WHOLE ? 3_600_000 : 900_000,
  )

  it.runIf(IS_WHOLE)('shows the same rows as a clean index of the final chain', async () => {
    const clean = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: 100,
    })
    try {
      await clean.level({ tip: oracles.txoutset.bestblock })
      await expectSameRows(pipeline.db, clean.db)
    } finally {
      await clean.close()
    }
  })

  it('has the supply and the UTXO count of gettxoutsetinfo, and Σ balances = Σ UTXO = supply', async () => {
    const supply = await pipeline.get('/stats/supply')
    expect(supply.body).toEqual({
      circulatingSupply: baseUnits(oracles.txoutset.total_amount).toString(),
      utxoCount: oracles.txoutset.txouts,
      maxSupply: '2100000000000000',
    })
    const used = [...chain.addressOf].filter(([script]) => (chain.history.get(script) ?? []).length > 0)
    const summaries = new Map<string, { balance: string; unspent_count: number }>()
    for (let from = 0; from < used.length; from += 1_000) {
      const addresses = used.slice(from, from + 1_000).map(([, address]) => address)
      const url = `${pipeline.url}/api/v1/addresses`
      const { body } = await getAnswer(url, {}, JSON.stringify({ addresses }))
      for (const { address, summary } of body.items) summaries.set(address, summary)
    }
    let balances = 0n
    let outputs = 0
    for (const { balance, unspent_count } of summaries.values()) {
      balances += BigInt(balance)
      outputs += unspent_count
    }
    for (const [script, address] of sampled(used, 6)) {
      let unspent = 0n
      for (const output of await everyItem(`/address/${address}/utxos`, 500)) {
        expect(output.script_pub_key).toBe(script)
        unspent += BigInt(output.value)
      }
      expect(unspent.toString(), address).toBe(summaries.get(address)?.balance)
    }
    const without = [...chain.coins.values()].filter((coin) => !chain.addressOf.has(coin.script))
    const rest = without.reduce((sum, coin) => sum + coin.value, 0n)
    expect(balances + rest).toBe(BigInt(supply.body.circulatingSupply))
    expect(outputs + without.length).toBe(supply.body.utxoCount)
  })

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- items are read as a client would
  async function everyItem(path: string, limit: number): Promise<any[]> {
    const items = []
    for (let offset = 0; ; offset += limit) {
      const query = path.endsWith('/utxos')
        ? `offset=${String(offset)}`
        : `page=${String(offset / limit + 1)}`
      const answer = await pipeline.get(`${path}?limit=${String(limit)}&${query}`)
      items.push(...answer.body.items)
      if (answer.body.items.length < limit) {
        expect(items).toHaveLength(answer.body.total)
        return items
      }
    }
  }

  it('has the balances and UTXO counts of its addresses, and histories that sum to them', async () => {
    expect(Object.keys(oracles.addresses)).toHaveLength(84)
    for (const [address, { balance, utxos, scriptPubKey }] of sampledByKind(
      Object.entries(oracles.addresses),
      4,
      ([, { kind }]) => kind,
    )) {
      const { body } = await pipeline.get(`/address/${address}`)
      expect(body, address).toMatchObject({
        address,
        balance: baseUnits(balance).toString(),
        unspent_count: utxos,
      })
      const rows = (await everyItem(`/address/${address}/txs`, 100)).filter(
        (row) => row.block_height !== null,
      )
      expect(rows).toHaveLength(body.tx_count)
      const sum = rows.reduce((total: bigint, row) => total + BigInt(row.value_change), 0n)
      expect(sum.toString(), address).toBe(body.balance)
      // One page: all pages were read above.
      for (const output of (await pipeline.get(`/address/${address}/utxos?limit=100`)).body.items)
        expect(output.script_pub_key).toBe(scriptPubKey)
    }
  })

  it('finds one history under both spellings of a Dilithium bech32 address', async () => {
    const requested = Object.entries(oracles.addresses).filter(([, each]) => each.kind === 'dil_bech32')
    expect(requested).toHaveLength(12)
    for (const [address, { scriptPubKey }] of requested) {
      const plain = chain.addressOf.get(scriptPubKey)
      if (plain === undefined) throw new Error('the node has printed no plain spelling')
      expect(plain).not.toBe(address)
      const [one, other] = await Promise.all([
        pipeline.get(`/address/${address}`),
        pipeline.get(`/address/${plain}`),
      ])
      expect(one.body.isDilithium).toBe(true)
      expect({ ...one.body, address: '', isDilithium: '' }).toEqual({
        ...other.body,
        address: '',
        isDilithium: '',
      })
    }
  })

  it('has fees, sizes, weights and counts of sampled blocks', async () => {
    expect(Object.keys(oracles.blockstats)).toHaveLength(60)
    for (const [height, stats] of sampled(Object.entries(oracles.blockstats), 5)) {
      const { body } = await pipeline.get(`/block/${height}`)
      const block = chain.blocks[Number(height)]
      expect(body).toMatchObject({
        hash: stats.blockhash,
        total_fees: String(stats.totalfee),
        tx_count: stats.txs,
        subsidy: String(stats.subsidy),
        size: block?.size,
        stripped_size: block?.strippedsize,
        weight: block?.weight,
        chainwork: block?.chainwork,
        timestamp: new Date(stats.time * 1000).toISOString(),
        median_time: new Date(stats.mediantime * 1000).toISOString(),
      })
      const txs = await everyItem(`/block/${height}/txs`, 100)
      const paying = txs.filter((tx) => tx.is_coinbase === false)
      expect(paying.reduce((sum: number, tx) => sum + tx.input_count, 0)).toBe(stats.ins)
      expect(txs.reduce((sum: number, tx) => sum + tx.output_count, 0)).toBe(stats.outs)
      expect(paying.reduce((sum: number, tx) => sum + tx.size, 0)).toBe(stats.total_size)
      expect(paying.reduce((sum: bigint, tx) => sum + BigInt(tx.output_value), 0n)).toBe(
        BigInt(stats.total_out),
      )
    }
  })

  it("has every input's value and address of sampled transactions", async () => {
    expect(Object.keys(oracles.transactions)).toHaveLength(30)
    const reported = new Map(chain.blocks.flatMap((block) => block.tx.map((tx) => [tx.txid, tx] as const)))
    for (const [txid, tx] of sampled(Object.entries(oracles.transactions), 3)) {
      const { body } = await pipeline.get(`/tx/${txid}`)
      expect(body).toMatchObject({ txid, size: tx.size, weight: tx.weight, vsize: Math.ceil(tx.weight / 16) })
      for (const [vin, input] of tx.vin.entries()) {
        const prevout = reported.get(txid)?.vin[vin]?.prevout
        const scriptSig = input.coinbase ?? input.scriptSig?.hex
        expect(body.inputs[vin]).toMatchObject({
          prev_txid: input.txid ?? null,
          prev_vout: input.vout ?? null,
          script_sig: scriptSig === '' ? null : scriptSig,
          sequence: String(input.sequence),
          witness: input.txinwitness ?? [],
          value: prevout === undefined ? null : baseUnits(prevout.value).toString(),
          address: prevout?.scriptPubKey.address ?? null,
        })
      }
      for (const [vout, output] of tx.vout.entries())
        expect(body.outputs[vout]).toMatchObject({
          value: baseUnits(output.value).toString(),
          script_pub_key: output.scriptPubKey.hex,
          script_type: output.scriptPubKey.type.replace('dilithium_scripthash', 'scripthash'),
          addresses:
            output.scriptPubKey.address === undefined
              ? []
              : [{ address: output.scriptPubKey.address, role: 'recipient' }],
        })
    }
  })

  it('has the mempool of the node', async () => {
    const { body } = await pipeline.get('/mempool/txs?limit=100')
    const items = new Map(body.items.map((item: { txid: string }) => [item.txid, item]))
    expect([...items.keys()].sort()).toEqual(Object.keys(oracles.mempool).sort())
    for (const [txid, entry] of Object.entries(oracles.mempool)) {
      const fee = baseUnits(entry.fees.base).toString()
      expect(items.get(txid)).toMatchObject({ fee, vsize: entry.vsize, weight: entry.weight })
      const tx = (await pipeline.get(`/tx/${txid}`)).body
      expect(tx).toMatchObject({ txid, block_height: null, fee, vsize: entry.vsize })
      for (const input of tx.inputs)
        expect(input).toMatchObject({ value: expect.any(String), address: expect.any(String) })
    }
  })
})
