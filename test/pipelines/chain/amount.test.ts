import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { baseUnitsToCoins, coinsToBaseUnits } from '../../../pipelines/chain/amount.js'
import { decimalString } from '../../../pipelines/chain/difficulty.js'
import { feeHistogram, feeRate } from '../../../pipelines/chain/feerate.js'

const MOST = 2n ** 26n * 100_000_000n - 1n

describe('amounts', () => {
  it('are exact from a JSON number, below 2²⁶ coins', () => {
    const near = fc.oneof(fc.bigInt({ min: 0n, max: MOST }), fc.bigInt({ min: MOST - 100_000n, max: MOST }))
    fc.assert(
      fc.property(near, (units) => {
        const text = `${String(units / 100_000_000n)}.${String(units % 100_000_000n).padStart(8, '0')}`
        expect(coinsToBaseUnits(JSON.parse(text) as number)).toBe(units)
        expect(coinsToBaseUnits(baseUnitsToCoins(units))).toBe(units)
      }),
      { numRuns: 2000 },
    )
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 26, 0.000000001])('refuses %d', (coins) => {
    expect(() => coinsToBaseUnits(coins)).toThrow(RangeError)
  })
})

describe('decimals', () => {
  it('have no exponent and parse to the same number', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = decimalString(value)
        expect(text).toMatch(/^-?\d+(\.\d+)?$/)
        expect(Number(text) === value).toBe(true)
      }),
    )
  })
})

describe('fee rates', () => {
  it('fall into the bucket whose lower bound they reach', () => {
    const at = (fee: bigint, vsize: number): string | undefined =>
      feeHistogram([{ fee, vsize }]).find(({ count }) => count === 1)?.bucket
    expect(at(0n, 100)).toBe('0-1')
    expect(at(99n, 100)).toBe('0-1')
    expect(at(100n, 100)).toBe('1-2')
    expect(at(299n, 100)).toBe('2-3')
    expect(at(300n, 100)).toBe('3-5')
    expect(at(9_999n, 100)).toBe('50-100')
    expect(at(10_000n, 100)).toBe('100+')
    expect(feeHistogram([]).map(({ bucket }) => bucket)).toEqual([
      '0-1',
      '1-2',
      '2-3',
      '3-5',
      '5-10',
      '10-20',
      '20-50',
      '50-100',
      '100+',
    ])
  })

  it('have two decimals', () => {
    expect([feeRate(1234n, 100), feeRate(1n, 3), feeRate(2n, 3), feeRate(0n, 10)]).toEqual([
      '12.34',
      '0.33',
      '0.67',
      '0.00',
    ])
  })
})
