import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode } from '../harness/follow-node.js'
import { naiveBlocks, type NaiveMempoolTx } from '../harness/naive-fees.js'
import { baseUnits } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'

/** The virtual size that a projected block leaves for header and coinbase. */
const RESERVED_VSIZE = 1_000

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
})
