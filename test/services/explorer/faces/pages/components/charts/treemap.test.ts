import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Rectangle,
  squarified,
} from '../../../../../../../services/explorer/faces/pages/components/charts/treemap.js'

const overlap = (one: Rectangle, other: Rectangle): number =>
  Math.max(0, Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x)) *
  Math.max(0, Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y))

describe('a treemap', () => {
  it('is that of the paper that describes the algorithm', () => {
    const places = squarified([6, 6, 4, 3, 2, 2, 1], { x: 0, y: 0, width: 6, height: 4 })
    const rounded = places.map(({ x, y, width, height }) =>
      [x, y, width, height].map((each) => Number(each.toFixed(2))),
    )
    expect(rounded).toEqual([
      [0, 0, 3, 2],
      [0, 2, 3, 2],
      [3, 0, 1.71, 2.33],
      [4.71, 0, 1.29, 2.33],
      [3, 2.33, 1.2, 1.67],
      [4.2, 2.33, 1.2, 1.67],
      [5.4, 2.33, 0.6, 1.67],
    ])
  })

  it('covers its rectangle with areas in proportion to the sizes, without overlaps', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 10, max: 2_000 }), (given, width) => {
        const sorted = [...given].sort((one, other) => other - one)
        const sum = sorted.reduce((total, size) => total + size, 0)
        const whole = { x: 0, y: 0, width, height: 400 }
        const places = squarified(sorted, whole)
        expect(places).toHaveLength(sorted.length)
        for (const [at, place] of places.entries()) {
          const area = (sorted[at]! / sum) * width * 400
          expect(Math.abs(place.width * place.height - area)).toBeLessThan(1e-6 * width * 400)
          expect(Math.abs(overlap(place, whole) - area)).toBeLessThan(1e-6 * width * 400)
          for (const other of places.slice(0, at))
            expect(overlap(place, other)).toBeLessThan(1e-6 * width * 400)
        }
      }),
      { numRuns: 50 },
    )
  })
})
