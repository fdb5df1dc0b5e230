import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { growthInSecondHalf, median, medianFigures, percentile, repeated } from '../repetitions.js'

describe('a median', () => {
  it('is the middle value, or the mean of two', () => {
    expect(median([5, 1, 3])).toBe(3)
    expect(median([10, 9, 2, 100])).toBe(9.5)
    expect(median([7])).toBe(7)
    expect(() => median([])).toThrow('no values')
  })

  it('does not depend on the order, and has as many values below as above', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (values) => {
        const middle = median(values)
        expect(median(values.toReversed())).toBe(middle)
        const below = values.filter((value) => value < middle).length
        const above = values.filter((value) => value > middle).length
        expect(Math.max(below, above)).toBeLessThanOrEqual(values.length / 2)
      }),
    )
  })
})

describe('a percentile', () => {
  it('is one of the values', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect(percentile(values, 0.99)).toBe(100)
    expect(percentile(values, 0.5)).toBe(51)
    expect(percentile(values, 0)).toBe(1)
    expect(percentile([4], 0.99)).toBe(4)
    expect(() => percentile([], 0.5)).toThrow('no values')
  })
})

describe('figures of repetitions', () => {
  const figure = (value: number, ratio?: number) => ({
    name: 'rate',
    value,
    unit: 'requests/s',
    ...(ratio === undefined ? {} : { baseline: value / ratio, ratio }),
  })

  it('are medians by name, of the ratios too', async () => {
    const runs = [figure(10, 0.5), figure(30, 0.2), figure(20, 0.9)]
    const order: number[] = []
    const figures = await repeated(3, async (repetition) => {
      order.push(repetition)
      return [runs[repetition] ?? figure(0), { ...figure(repetition), name: 'size', most: 3 }]
    })
    expect(order).toEqual([0, 1, 2])
    expect(figures).toEqual([
      { name: 'rate', value: 20, unit: 'requests/s', baseline: 20 / 0.9, ratio: 0.5 },
      { name: 'size', value: 1, unit: 'requests/s', most: 3 },
    ])
  })

  it('must be the same in each repetition', () => {
    expect(() => medianFigures([[figure(1)], [{ ...figure(1), name: 'other' }]])).toThrow('different figures')
    expect(() => medianFigures([[figure(1)], []])).toThrow('different figures')
  })
})

describe('growth in the second half', () => {
  it('compares the maxima of the last two quarters', () => {
    expect(growthInSecondHalf([900, 900, 900, 900, 100, 110, 121, 100])).toBeCloseTo(1.1)
    expect(() => growthInSecondHalf([1, 2, 3])).toThrow('too few samples')
  })
})
