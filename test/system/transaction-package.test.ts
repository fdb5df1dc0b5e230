import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { NETWORKS } from '../../pipelines/chain/networks.js'
import type { TransactionPackage } from '../../services/explorer/core/reads/shapes.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { naiveBlocks, type NaiveMempoolTx } from '../harness/naive-fees.js'
import { baseUnits, type NodeTx } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { IS_WHOLE } from '../harness/whole.js'

const FINALITY = 10
/** The depth of the reorganisation of each round; one goes below the final height, which check:long precedes by a usual one. */
const DEPTHS = IS_WHOLE ? [1, FINALITY + 3] : [FINALITY + 3]
/** The newest blocks whose transactions are compared. */
const BLOCKS = 3
/** The virtual size that a projected block leaves for header and coinbase. */
const RESERVED_VSIZE = 1_000
/** The requests in progress. */
const AT_ONCE = 16
const UNLIMITED = Number.POSITIVE_INFINITY

/** Returns a fee rate with two decimals, rounded half up. */
function rateOf({ fee, vsize }: { readonly fee: bigint; readonly vsize: number }): string {
  const hundredths = (200n * fee + BigInt(vsize)) / (2n * BigInt(vsize))
  return `${String(hundredths / 100n)}.${String(hundredths % 100n).padStart(2, '0')}`
}

describe.each(['btq-regtest', 'bitcoin-regtest'])('the package of a transaction on %s', (name) => {
  const network = [...NETWORKS.values()].find((each) => each.name === name)!
  let node: Simnode
  let pipeline: Pipeline
  const chain = new NaiveChain()
  /** The transactions with ancestors that were compared, in blocks and in the mempool. */
  const related = { confirmed: 0, unconfirmed: 0, withOtherRate: 0 }

  beforeAll(async () => {
    node = await startSimnode({ seed: 'packages', blocks: 60, txsPerBlock: 8, network })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0 },
    })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function level(): Promise<void> {
    await follow(chain, node)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  }

  const packageOf = async (txid: string): Promise<TransactionPackage> =>
    (await pipeline.get(`/tx/${txid}/cpfp`)).body

  /** Compares the packages of transactions that are all that may be connected. @returns the answers. */
  async function check(
    txs: readonly NaiveMempoolTx[],
    height: number | null,
  ): Promise<readonly TransactionPackage[]> {
    const byTxid = new Map(txs.map((tx) => [tx.txid, tx]))
    const ancestorsOf = (txid: string): ReadonlySet<string> => {
      const found = new Set(byTxid.get(txid)?.depends)
      for (const each of found) for (const parent of byTxid.get(each)?.depends ?? []) found.add(parent)
      return found
    }
    const ancestors = new Map(txs.map(({ txid }) => [txid, ancestorsOf(txid)]))
    const [block] = naiveBlocks(txs, UNLIMITED, 1)
    const answers: TransactionPackage[] = []
    for (let from = 0; from < txs.length; from += AT_ONCE)
      answers.push(...(await Promise.all(txs.slice(from, from + AT_ONCE).map(({ txid }) => packageOf(txid)))))
    for (const [index, answer] of answers.entries()) {
      const tx = txs[index]!
      const own = ancestors.get(tx.txid)!
      const expected = {
        txid: tx.txid,
        block_height: height,
        fee: tx.fee.toString(),
        vsize: tx.vsize,
        weight: tx.weight,
        fee_rate: rateOf(tx),
        effective_fee_rate: rateOf(block!.packages.get(tx.txid)!),
        complete: true,
      }
      expect(answer).toMatchObject(expected)
      if (expected.fee_rate !== expected.effective_fee_rate) related.withOtherRate++
      const below = txs.filter(({ txid }) => ancestors.get(txid)!.has(tx.txid))
      expect(new Set(answer.ancestors.map(({ txid }) => txid))).toEqual(own)
      expect(new Set(answer.descendants.map(({ txid }) => txid))).toEqual(
        new Set(below.map(({ txid }) => txid)),
      )
      if (own.size > 0) related[height === null ? 'unconfirmed' : 'confirmed']++
      for (const members of [answer.ancestors, answer.descendants])
        for (const [place, member] of members.entries()) {
          const { fee, vsize, weight } = byTxid.get(member.txid)!
          expect(member).toEqual({ txid: member.txid, fee: fee.toString(), vsize, weight })
          // Each after its own ancestors.
          for (const { txid } of members.slice(place)) expect(ancestors.get(member.txid)).not.toContain(txid)
        }
    }
    return answers
  }

  async function checkMempool(): Promise<void> {
    type Entry = {
      readonly vsize: number
      readonly weight: number
      readonly fees: { readonly base: number }
      readonly depends: readonly string[]
    }
    const entries = await callNode<Record<string, Entry>>(node, 'getrawmempool', true)
    const txs = Object.entries(entries).map(([txid, { vsize, weight, fees, depends }]) => {
      return { txid, fee: baseUnits(fees.base), vsize, weight, depends }
    })
    const answers = await check(txs, null)
    const maxWeight = network.maxBlockWeight - RESERVED_VSIZE * network.witnessScale
    const earlier = new Set<string>()
    for (const [index, { txids }] of naiveBlocks(txs, maxWeight, UNLIMITED).entries()) {
      const own = answers.filter(({ txid }) => txids.has(txid))
      own.sort((one, other) => one.projected!.tx_index - other.projected!.tx_index)
      let before = 0
      for (const [place, { txid, projected, vsize, ancestors }] of own.entries()) {
        expect(projected).toEqual({ block: index + 1, tx_index: place + 1, vsize_before: before })
        before += vsize
        for (const ancestor of ancestors) expect(earlier).toContain(ancestor.txid)
        earlier.add(txid)
      }
    }
    expect(earlier.size).toBe(txs.length)
  }

  async function checkBlocks(): Promise<void> {
    for (const { tx, height } of chain.blocks.slice(-BLOCKS)) {
      const txids = new Set(tx.map(({ txid }) => txid))
      const naive = tx.map((each: NodeTx & { readonly weight?: number }) => {
        const depends = each.vin.flatMap(({ txid }) => (txid !== undefined && txids.has(txid) ? [txid] : []))
        const { txid, weight = 0, fee = 0 } = each
        const vsize = Math.ceil(weight / network.witnessScale)
        return { txid, fee: baseUnits(fee), vsize, weight, depends: [...new Set(depends)] }
      })
      for (const { projected } of await check(naive, height)) expect(projected).toBeNull()
    }
  }

  it('is the one of a naive computation, in the mempool and in blocks, through reorganisations', async () => {
    for (const depth of DEPTHS) {
      node.simulation.enter(25)
      await level()
      await checkMempool()
      node.simulation.mine({ blocks: 2, txs: 25 })
      node.simulation.enter(10)
      await level()
      await checkBlocks()
      node.simulation.tipBack(depth)
      await level()
      await checkMempool()
      await checkBlocks()
    }
    expect(related.confirmed).toBeGreaterThan(5)
    expect(related.unconfirmed).toBeGreaterThan(5)
    expect(related.withOtherRate).toBeGreaterThan(5)
    expect((await pipeline.get(`/tx/${'ab'.repeat(32)}/cpfp`)).status).toBe(404)
  })
})
