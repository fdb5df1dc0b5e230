import { describe, expect, it } from 'vitest'
import { medianFees } from '../baseline/median-fees.js'
import { PolicyEstimator } from '../baseline/policy-estimator.js'
import { type MarketTx, playMarket } from '../fee-market.js'

const blockOf = (rate: number, vsize: number) => {
  const packages = [{ fee: BigInt(rate * vsize), vsize }]
  return { txCount: 1, weight: 4 * vsize, vsize, fees: BigInt(rate * vsize), packages, txs: [] }
}

describe('the baselines of fee estimates', () => {
  it('have the medians of blocks, the average with the one before, and the minimum for half a block', () => {
    const rates = (...blocks: Parameters<typeof medianFees>[0]): number[] => [...medianFees(blocks).values()]
    expect(rates()).toEqual([1, 0.5, 0.1])
    expect(rates(blockOf(20, 500_000))).toEqual([1, 0.5, 0.1])
    expect(rates(blockOf(20, 750_000))).toEqual([10.5, 0.5, 0.1])
    expect(rates(blockOf(20, 999_000), blockOf(10, 999_000), blockOf(4, 999_000))).toEqual([20.5, 15.25, 9.5])
  })

  it('learn as the node does how long transactions take', () => {
    const estimator = new PolicyEstimator()
    expect(estimator.estimate(2, false)).toBeUndefined()
    const waiting: { readonly txid: string; readonly dueAt: number }[] = []
    for (let height = 1; height <= 400; height++) {
      const due = waiting.filter(({ dueAt }) => dueAt <= height)
      estimator.mine(
        height,
        due.map(({ txid }) => txid),
      )
      for (const each of due) waiting.splice(waiting.indexOf(each), 1)
      for (const [rate, blocks] of [
        [20, 1],
        [3, 8],
      ] as const) {
        for (let index = 0; index < 10; index++) {
          const txid = `${String(height)} ${String(rate)} ${String(index)}`
          estimator.enter(txid, rate)
          waiting.push({ txid, dueAt: height + blocks })
        }
      }
    }
    expect(estimator.estimate(1, false)).toBe(20)
    expect(estimator.estimate(6, false)).toBe(20)
    expect(estimator.estimate(24, false)).toBe(3)
    expect(estimator.estimate(24, true)).toBe(3)
    // Low ones that never confirm make the low bucket fail.
    for (let index = 0; index < 4_000; index++) estimator.enter(`stuck ${String(index)}`, 3)
    for (let height = 401; height <= 440; height++) estimator.mine(height, [])
    expect(estimator.estimate(24, false)).not.toBe(3)
  })

  it('watch a market that is the same each time, in which what pays enough is mined', () => {
    const play = () => {
      const mempool = new Map<string, MarketTx>()
      const blocks: number[] = []
      playMarket(
        { name: 'test', load: 1.1, rushes: 0, days: 0.25 },
        {
          entered: (tx) => mempool.set(tx.txid, tx),
          replaced: (tx) => mempool.delete(tx.txid),
          looked: () => undefined,
          mined: ({ txs, needed }) => {
            const rates = txs.map((tx) => mempool.get(tx.txid)!).map((tx) => Number(tx.fee) / tx.vsize)
            for (const { txid } of txs) mempool.delete(txid)
            const alone = [...mempool.values()].filter(({ hasParent }) => !hasParent)
            // What was left out pays no more than what was needed: the last packages are about as large as what was left of the block.
            if (Number.isFinite(needed) && needed > 0)
              expect(
                alone.filter(({ fee, vsize }) => Number(fee) / vsize > needed * 1.0001).length,
              ).toBeLessThanOrEqual(0)
            blocks.push(rates.length, needed)
          },
        },
      )
      return blocks
    }
    const blocks = play()
    expect(blocks.length).toBeGreaterThan(40)
    expect(blocks.some((each) => each > 0.1 && each < 100)).toBe(true)
    expect(play()).toEqual(blocks)
  })
})
