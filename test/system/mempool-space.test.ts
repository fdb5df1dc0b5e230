import mempoolJS from '@mempool/mempool.js'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode } from '../harness/follow-node.js'
import { naiveBlocks, type NaiveMempoolTx } from '../harness/naive-fees.js'
import { baseUnits } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'

/** The virtual size that a projected block leaves for header and coinbase. */
const RESERVED_VSIZE = 1_000

interface Extended {
  readonly id: string
  readonly height: number
  readonly extras: Readonly<Record<string, unknown>>
}

interface Summary {
  readonly txid: string
  readonly rate: number
}

interface Entry {
  readonly vsize: number
  readonly weight: number
  readonly time: number
  readonly fees: { readonly base: number }
  readonly depends: readonly string[]
}

describe("mempool.space's API", () => {
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({
      seed: 'mempool.space',
      blocks: 40,
      txsPerBlock: 6,
      network: BITCOIN_REGTEST,
    })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { auditEveryMs: 0, esploraPort: 0 },
    })
    node.simulation.enter(30)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const fetched = (path: string): Promise<Response> => fetch(`${pipeline.esploraUrl}/api/v1${path}`)
  const get = async (path: string): Promise<unknown> => (await fetched(path)).json()

  async function mempool(): Promise<(NaiveMempoolTx & { readonly time: number })[]> {
    const entries = await callNode<Record<string, Entry>>(node, 'getrawmempool', true)
    return Object.entries(entries).map(([txid, { vsize, weight, fees, depends, time }]) => {
      return { txid, fee: baseUnits(fees.base), vsize, weight, depends, time }
    })
  }

  it('projects blocks as a naive computation does', async () => {
    const txs = await mempool()
    const maxWeight = BITCOIN_REGTEST.maxBlockWeight - RESERVED_VSIZE * BITCOIN_REGTEST.witnessScale
    const [block] = naiveBlocks(txs, maxWeight, 8)
    const sizes = await Promise.all(
      txs.map(({ txid }) => callNode<{ size: number }>(node, 'getrawtransaction', txid, 1)),
    )
    const [answer, ...others] = (await get('/fees/mempool-blocks')) as {
      medianFee: number
      feeRange: number[]
    }[]
    expect(others).toEqual([])
    expect(answer).toMatchObject({
      blockSize: sizes.reduce((sum, { size }) => sum + size, 0),
      blockVSize: block!.vsize,
      nTx: txs.length,
      totalFees: Number(block!.fees),
    })
    const rates = [...block!.rates].sort((one, other) => one - other)
    const { feeRange, medianFee } = answer!
    expect(feeRange).toHaveLength(7)
    expect([feeRange[0], feeRange[6]]).toEqual([rates[0], rates.at(-1)])
    expect([...feeRange].sort((one, other) => one - other)).toEqual(feeRange)
    expect(feeRange[3]).toBe(medianFee)
    for (const rate of feeRange) expect(rates).toContain(rate)
  })

  it('recommends the fees of /api/v1 in whole numbers and precisely', async () => {
    const { items, minimumFeeRate } = (await pipeline.get('/fees/recommended')).body as {
      items: { blocks: number; feeRate: string }[]
      minimumFeeRate: string
    }
    const rateOf = (blocks: number): number =>
      Number(items.find((item) => item.blocks === blocks)?.feeRate ?? Number.NaN)
    const precise = {
      fastestFee: rateOf(1),
      halfHourFee: rateOf(3),
      hourFee: rateOf(6),
      economyFee: rateOf(30),
      minimumFee: Number(minimumFeeRate),
    }
    expect(await get('/fees/precise')).toEqual(precise)
    const whole = Object.entries(precise).map(([name, rate]) => [name, Math.ceil(rate)])
    expect(await get('/fees/recommended')).toEqual(Object.fromEntries(whole))
  })

  it('has the package of a transaction, and its first time', async () => {
    const txs = await mempool()
    const child = txs.find(({ depends }) => depends.length === 1)!
    const parent = txs.find(({ txid }) => txid === child.depends[0])!
    const [block] = naiveBlocks(txs, Number.POSITIVE_INFINITY, 1)
    const { fee, vsize } = block!.packages.get(child.txid)!
    const answer = (await get(`/cpfp/${child.txid}`)) as {
      ancestors: { txid: string }[]
      effectiveFeePerVsize: number
    }
    expect(answer.ancestors).toContainEqual({
      txid: parent.txid,
      fee: Number(parent.fee),
      weight: parent.weight,
    })
    expect(answer.effectiveFeePerVsize).toBeCloseTo(Number(fee) / vsize, 1)
    expect(answer).toMatchObject({ fee: Number(child.fee), adjustedVsize: child.vsize, bestDescendant: null })
    const { descendants } = (await get(`/cpfp/${parent.txid}`)) as { descendants: { txid: string }[] }
    expect(descendants.map(({ txid }) => txid)).toContain(child.txid)
    const confirmed = node.chain.read(node.chain.tip).txs[0]!.txid
    const times = [child, parent].map(({ txid }) => `txId[]=${txid}`)
    expect(await get(`/transaction-times?${[...times, `txId[]=${confirmed}`].join('&')}`)).toEqual([
      child.time,
      parent.time,
      0,
    ])
    expect(await get(`/cpfp/${'ab'.repeat(32)}`)).toEqual({ ancestors: [] })
    expect((await get(`/cpfp/${confirmed}`)) as object).not.toHaveProperty('fee')
  })

  it('says when the difficulty changes', async () => {
    const answer = (await get('/difficulty-adjustment')) as Record<string, number>
    expect(answer).toMatchObject({
      remainingBlocks: 0,
      nextRetargetHeight: 0,
      difficultyChange: 0,
      previousRetarget: 0,
      timeOffset: 0,
    })
    expect(Object.keys(answer).sort()).toEqual(
      [
        'progressPercent',
        'difficultyChange',
        'estimatedRetargetDate',
        'remainingBlocks',
        'remainingTime',
        'previousRetarget',
        'previousTime',
        'nextRetargetHeight',
        'timeAvg',
        'adjustedTimeAvg',
        'timeOffset',
        'expectedBlocks',
      ].sort(),
    )
  })

  interface Stats {
    readonly totalfee: number
    readonly ins: number
    readonly outs: number
    readonly total_out: number
    readonly swtxs: number
    readonly swtotal_size: number
    readonly swtotal_weight: number
    readonly subsidy: number
  }

  it('has blocks with the figures of getblockstats', async () => {
    const blocks = (await get('/blocks')) as Extended[]
    expect(blocks.map(({ height }) => height)).toEqual(
      Array.from({ length: 15 }, (_, index) => node.chain.tip.height - index),
    )
    expect(((await get('/blocks/20')) as Extended[]).slice(0, 2)).toMatchObject([
      { height: 20 },
      { height: 19 },
    ])
    for (const block of blocks.slice(0, 5)) {
      const stats = await callNode<Stats>(node, 'getblockstats', block.height)
      // These figures are compared with recorded ones of Bitcoin Core elsewhere.
      const own = (await pipeline.get(`/block/${String(block.height)}/stats`)).body
      const percentiles = own.fee_rate_percentiles as Record<string, string>
      const header = await callNode<string>(node, 'getblockheader', block.id, false)
      const [coinbase] = node.chain.read(node.chain.at(block.height)!).txs
      expect(block.extras).toMatchObject({
        header,
        totalFees: stats.totalfee,
        avgFee: Number(own.average_fee),
        avgFeeRate: Number(own.average_fee_rate),
        medianFee: Number(percentiles['p50']),
        medianFeeAmt: Number(own.median_fee),
        feeRange: [own.min_fee_rate, ...Object.values(percentiles), own.max_fee_rate].map(Number),
        reward: stats.subsidy + stats.totalfee,
        totalInputs: stats.ins,
        totalOutputs: stats.outs,
        totalOutputAmt: stats.total_out,
        totalInputAmt: stats.total_out + stats.totalfee,
        segwitTotalTxs: stats.swtxs,
        segwitTotalSize: stats.swtotal_size,
        segwitTotalWeight: stats.swtotal_weight,
        utxoSetChange: own.utxo_increase,
        coinbaseRaw: coinbase!.inputs[0]!.scriptSig.toString('hex'),
      })
      expect(await get(`/block/${block.id}`)).toEqual(block)
    }
    expect(await get('/blocks-bulk/3/5')).toMatchObject([{ height: 3 }, { height: 4 }, { height: 5 }])
    expect((await fetched('/blocks-bulk/5/3')).status).toBe(400)
    expect((await fetched(`/block/${'ab'.repeat(32)}`)).status).toBe(404)
  })

  it('has the summary of a block, with effective rates among its transactions', async () => {
    const { id } = ((await get('/blocks')) as Extended[])[0]!
    const { txs } = node.chain.read(node.chain.tip)
    const summary = (await get(`/block/${id}/summary`)) as Summary[]
    expect(summary.map(({ txid }) => txid)).toEqual(txs.map(({ txid }) => txid))
    const entries = await Promise.all(
      txs.map(({ txid }) =>
        callNode<{ weight: number; fee?: number; vin: { txid: string }[] }>(
          node,
          'getrawtransaction',
          txid,
          2,
        ),
      ),
    )
    const own = new Set(txs.map(({ txid }) => txid))
    const [, ...paying] = entries.map(({ weight, fee, vin }, index): NaiveMempoolTx => {
      const depends = [...new Set(vin.map(({ txid }) => txid).filter((txid) => own.has(txid)))]
      return {
        txid: txs[index]!.txid,
        fee: baseUnits(fee ?? 0),
        weight,
        vsize: Math.ceil(weight / 4),
        depends,
      }
    })
    const [packages] = naiveBlocks(paying, Number.POSITIVE_INFINITY, 1)
    for (const [index, tx] of paying.entries()) {
      const { fee, vsize } = packages!.packages.get(tx.txid)!
      const item = summary[index + 1]!
      const value = txs[index + 1]!.outputs.reduce((sum, output) => sum + output.value, 0n)
      expect(item).toMatchObject({
        txid: tx.txid,
        fee: Number(tx.fee),
        vsize: tx.weight / 4,
        value: Number(value),
      })
      expect(item.rate).toBeCloseTo(Number(fee) / vsize, 9)
      expect(await get(`/block/${id}/tx/${tx.txid}/summary`)).toEqual(item)
      if (index > 2) break
    }
    expect((await fetched(`/block/${id}/tx/${'ab'.repeat(32)}/summary`)).status).toBe(404)
  })

  it('has what miners earned, and in steps of time', async () => {
    const stats = await Promise.all(
      Array.from({ length: node.chain.tip.height + 1 }, (_, height) =>
        callNode<Stats & { txs: number; time: number; height: number }>(node, 'getblockstats', height),
      ),
    )
    const sum = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0)
    const newest = stats.slice(-7)
    expect(await get('/mining/reward-stats/7')).toEqual({
      startBlock: node.chain.tip.height - 6,
      endBlock: node.chain.tip.height,
      totalReward: String(sum(newest.map(({ subsidy, totalfee }) => subsidy + totalfee))),
      totalFee: String(sum(newest.map(({ totalfee }) => totalfee))),
      totalTx: String(sum(newest.map(({ txs }) => txs))),
    })
    const days = new Map<number, typeof stats>()
    for (const each of stats) {
      const day = Math.floor(each.time / 86_400)
      days.set(day, [...(days.get(day) ?? []), each])
    }
    const expected = [...days]
      .sort(([one], [other]) => one - other)
      .map(([, of]) => ({
        avgHeight: Math.round(sum(of.map(({ height }) => height)) / of.length),
        avgFees: Math.round(sum(of.map(({ totalfee }) => totalfee)) / of.length),
      }))
    const points = (await get('/mining/blocks/fees/all')) as { avgHeight: number; avgFees: number }[]
    expect(points).toHaveLength(expected.length)
    for (const [index, point] of points.entries()) {
      // Halves are rounded to the even number there.
      expect(Math.abs(point.avgHeight - expected[index]!.avgHeight)).toBeLessThanOrEqual(1)
      expect(Math.abs(point.avgFees - expected[index]!.avgFees)).toBeLessThanOrEqual(1)
    }
    for (const path of ['rewards', 'fee-rates', 'sizes-weights'])
      expect((await fetched(`/mining/blocks/${path}/24h`)).status).toBe(200)
    expect((await fetched('/mining/blocks/fees/2h')).status).toBe(400)
    const { time, height } = stats[10]!
    const last = stats.findLast((each) => each.time <= time)!
    expect(await get(`/mining/blocks/timestamp/${String(time)}`)).toMatchObject({
      height: stats.filter((each) => each.time === last.time).at(-1)!.height,
      timestamp: new Date(time * 1_000).toISOString(),
    })
    expect(height).toBe(10)
  })

  it('has mining pools, their blocks and their hashrates', async () => {
    const ranking = (await get('/mining/pools/all')) as { blockCount: number }
    const { blockCount } = ranking
    expect(blockCount).toBe(node.chain.tip.height + 1)
    // The test has no file of mining pools.
    expect(ranking).toMatchObject({ pools: [{ slug: 'unknown', blockCount, rank: 1 }] })
    expect(await get('/mining/pool/unknown')).toMatchObject({
      blockCount: { all: blockCount },
      blockShare: { all: 1 },
    })
    expect(((await get('/mining/pool/unknown/blocks/5')) as Extended[]).map(({ height }) => height)).toEqual([
      4, 3, 2, 1, 0,
    ])
    expect((await fetched('/mining/pool/other')).status).toBe(404)
    expect(await get('/mining/pools')).toEqual([{ name: 'Unknown', slug: 'unknown', unique_id: 0 }])
    expect(await get('/mining/difficulty-adjustments')).toMatchObject([
      [expect.any(Number), 0, expect.any(Number), 1],
    ])
    const { currentDifficulty } = (await get('/mining/hashrate/1w')) as { currentDifficulty: number }
    // The node prints fewer digits.
    expect(currentDifficulty / (await callNode<number>(node, 'getdifficulty'))).toBeCloseTo(1, 9)
  })

  it('has the outputs that inputs may spend', async () => {
    const [, tx] = node.chain.read(node.chain.tip).txs
    const spent = { txid: tx!.inputs[0]!.prevTxid, vout: tx!.inputs[0]!.prevVout }
    const unspent = tx!.outputs.findIndex(
      (_, vout) => node.chain.output({ txid: tx!.txid, vout }) !== undefined,
    )
    const [unconfirmed] = await mempool()
    const post = async (items: readonly object[]): Promise<unknown> => {
      const body = JSON.stringify(items)
      return (await fetch(`${pipeline.esploraUrl}/v1/prevouts`, { method: 'POST', body })).json()
    }
    const script = tx!.outputs[unspent]!.script.toString('hex')
    const value = Number(tx!.outputs[unspent]!.value)
    expect(await post([{ txid: tx!.txid, vout: unspent }])).toMatchObject([
      { prevout: { scriptpubkey: script, value }, unconfirmed: false },
    ])
    expect(
      await post([spent, { txid: unconfirmed!.txid, vout: 0 }, { txid: 'ab'.repeat(32), vout: 0 }]),
    ).toMatchObject([null, { unconfirmed: true }, null])
    const bad = await fetch(`${pipeline.esploraUrl}/v1/prevouts`, { method: 'POST', body: '[{"txid":"00"}]' })
    expect(bad.status).toBe(400)
  })

  it('answers every function of mempool.js', async () => {
    const { bitcoin } = mempoolJS({ hostname: new URL(pipeline.esploraUrl).host, protocol: 'http' })
    const { addresses, blocks, difficulty, fees, mempool: pool, transactions } = bitcoin
    const { txs } = node.chain.read(node.chain.tip)
    const [hash, height] = [node.chain.tip.hash, node.chain.tip.height]
    const txid = txs[1]!.txid
    const address = (await transactions.getTx({ txid })).vout
      .map((each) => each.scriptpubkey_address)
      .find((each) => each !== undefined)!
    const [unconfirmed] = await mempool()
    const answers = {
      address: await addresses.getAddress({ address }),
      addressTxs: await addresses.getAddressTxs({ address }),
      addressTxsAfter: await addresses.getAddressTxs({ address, after_txid: txid }),
      addressChain: await addresses.getAddressTxsChain({ address }),
      addressMempool: await addresses.getAddressTxsMempool({ address }),
      utxo: await addresses.getAddressTxsUtxo({ address }),
      block: await blocks.getBlock({ hash }),
      blocks: await blocks.getBlocks({ start_height: height }),
      blocksOfNoHeight: await blocks.getBlocks({}),
      status: await blocks.getBlockStatus({ hash }),
      blockTxs: await blocks.getBlockTxs({ hash, start_index: 0 }),
      blockTxids: await blocks.getBlockTxids({ hash }),
      blockTxid: await blocks.getBlockTxid({ hash, index: 1 }),
      blockRaw: await blocks.getBlockRaw({ hash }),
      blockHeader: await blocks.getBlockHeader({ hash }),
      blockHeight: await blocks.getBlockHeight({ height }),
      tipHash: await blocks.getBlocksTipHash(),
      tipHeight: await blocks.getBlocksTipHeight(),
      adjustment: await difficulty.getDifficultyAdjustment(),
      hashrate: await difficulty.getHashrate({ interval: '1w' }),
      recommended: await fees.getFeesRecommended(),
      mempoolBlocks: await fees.getFeesMempoolBlocks(),
      cpfp: await fees.getCPFP({ txid: unconfirmed!.txid }),
      mempool: await pool.getMempool(),
      mempoolTxids: await pool.getMempoolTxids(),
      recent: await pool.getMempoolRecent(),
      tx: await transactions.getTx({ txid }),
      txStatus: await transactions.getTxStatus({ txid }),
      hex: await transactions.getTxHex({ txid }),
      raw: await transactions.getTxRaw({ txid }),
      proof: await transactions.getTxMerkleProof({ txid }),
      blockProof: await transactions.getTxMerkleBlockProof({ txid }),
      outspend: await transactions.getTxOutspend({ txid, vout: 0 }),
      outspends: await transactions.getTxOutspends({ txid }),
    }
    expect(answers).toMatchObject({
      address: { address },
      block: { id: hash, extras: { pool: { slug: 'unknown' } } },
      status: { in_best_chain: true, height },
      blockTxids: txs.map((each) => each.txid),
      blockTxid: txid,
      blockHeight: hash,
      tipHash: hash,
      tipHeight: height,
      tx: { txid, status: { confirmed: true, block_hash: hash } },
      mempool: { count: node.simulation.mempool.size },
    })
    expect(answers.blocks).toEqual(answers.blocksOfNoHeight)
    // Sending is not enabled in this test.
    await expect(transactions.postTx({ txhex: '00' })).rejects.toMatchObject({ response: { status: 403 } })
    await expect(bitcoin.lightning.getNetworkStats()).rejects.toMatchObject({ response: { status: 404 } })
  })
})
