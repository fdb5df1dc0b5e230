import { describe, expect, it } from 'vitest'
import {
  orHigher,
  RATE_STEPS,
  rateOfStep,
  sizing,
  stepOf,
  stepOfTx,
} from '../../../pipelines/mempool/rate-steps.js'
import { uninterrupted } from '../../../pipelines/mempool/projection.js'

describe('steps of fee rates', () => {
  it('begin at their edges, each 5 % above the one before, and the first and last have no end', () => {
    for (let step = 1; step < RATE_STEPS; step++) {
      const edge = rateOfStep(step)
      expect(edge / rateOfStep(step - 1)).toBeCloseTo(1.05, 9)
      expect([stepOf(edge * 0.9999), stepOf(edge), stepOf(edge * 1.0499)]).toEqual([step - 1, step, step])
    }
    expect([stepOf(0), stepOf(0.1), stepOf(1e9)]).toEqual([0, 0, RATE_STEPS - 1])
    expect(rateOfStep(RATE_STEPS - 1)).toBeGreaterThan(9_000)
  })

  it('have the sizes of transactions by their effective fee rates', () => {
    const tx = (fee: bigint, vsize: number, packaged?: { fee: bigint; vsize: number }) => ({
      ...{ txid: '', size: vsize, weight: 4 * vsize, outpoints: [] },
      ...{ fee, vsize, packaged },
    })
    const cheap = tx(100n, 100, { fee: 10_000n, vsize: 200 })
    const txs = [cheap, tx(5_000n, 100), tx(0n, 300)]
    expect(stepOfTx(cheap)).toBe(stepOf(50))
    const sizes = uninterrupted(sizing(txs))
    expect(sizes).toHaveLength(RATE_STEPS)
    expect([sizes[stepOf(50)], sizes[0], sizes.filter((size) => size > 0)]).toEqual([200, 300, [300, 200]])
    expect([orHigher(sizes)[0], orHigher(sizes)[1], orHigher(sizes)[stepOf(50) + 1]]).toEqual([500, 200, 0])
  })
})
