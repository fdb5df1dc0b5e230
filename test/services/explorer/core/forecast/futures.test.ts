import { describe, expect, it } from 'vitest'
import { RATE_STEPS, rateOfStep, stepOf } from '../../../../../pipelines/mempool/rate-steps.js'
import { Random } from '../../../../../services/simnode/random.js'
import {
  chanceOf,
  type Confirmation,
  FUTURE_BLOCKS,
  Futures,
} from '../../../../../services/explorer/core/forecast/futures.js'

const CAPACITY = 1_000_000
/** The share of the capacity that futures use. */
const USED = 0.98
const SPACING = 600

const steps = (of: (rate: number) => number): number[] =>
  Array.from({ length: RATE_STEPS }, (_, step) => of(rateOfStep(step)))
const none = steps(() => 0)

function market(waiting: readonly number[], lately = none, usually = lately): Futures {
  return new Futures({ waiting, arriving: { lately, usually }, capacity: CAPACITY, spacing: SPACING })
}
const within =
  (blocks: number) =>
  (each: Confirmation): boolean =>
    each.blocks <= blocks

describe('the futures of a mempool', () => {
  it('confirm what the blocks have room for, if nothing arrives', () => {
    const full = CAPACITY * USED
    const futures = market(steps((rate) => (rate <= 10 ? 2.5 * full : rate <= 20 ? 0.5 * full : 0)))
    const blocksAt = (rate: number): number[] => [
      ...new Set(futures.confirmations(rate).map(({ blocks }) => blocks)),
    ]
    expect([blocksAt(5), blocksAt(15), blocksAt(40)]).toEqual([[3], [1], [1]])
    expect(futures.rateFor(within(1), 0.95)).toBe(rateOfStep(stepOf(10) + 1))
    expect(futures.rateFor(within(3), 0.95)).toBe(rateOfStep(0))
  })

  it('have blocks at random times: the next one within its mean interval in 63 of 100', () => {
    const confirmations = market(none).confirmations(1)
    const chance = (seconds: number): number => chanceOf(confirmations, (each) => each.seconds <= seconds)
    for (const times of [0.25, 0.5, 1, 2, 3])
      expect(Math.abs(chance(times * SPACING) - (1 - Math.exp(-times)))).toBeLessThan(0.06)
    // No fee rate makes a block arrive in time.
    expect(market(none).rateFor(({ seconds }) => seconds <= SPACING, 0.95)).toBeUndefined()
  })

  it('have the chances of a simulation with other random numbers', () => {
    const arriving = 0.9 * (CAPACITY / SPACING)
    const usual = 0.5 * arriving
    const ahead = 1.2 * CAPACITY
    const futures = market(
      steps(() => ahead),
      steps(() => arriving),
      steps(() => usual),
    )
    const confirmations = futures.confirmations(1)
    const counts = new Map([1, 2, 3, 6, 12, 24, 72].map((blocks) => [blocks, 0]))
    const runs = 2_000
    const random = Random.of('futures')
    const tick = 5
    for (let run = 0; run < runs; run++) {
      const normal =
        Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction())
      let [waiting, time, block] = [ahead, 0, 0]
      // In ticks of some seconds: what arrives, and the next block with its chance.
      for (; block < 72;) {
        const weight = Math.exp(-time / 10_800)
        const [near, far] = [arriving * Math.exp(0.6 * normal), usual * Math.exp(0.3 * normal)]
        waiting += tick * (near * weight + far * (1 - weight))
        time += tick
        if (random.fraction() > tick / SPACING) continue
        block++
        waiting -= CAPACITY * USED
        if (waiting <= 0) break
      }
      if (waiting > 0) continue
      for (const [most, count] of counts) if (block <= most) counts.set(most, count + 1)
    }
    for (const [most, count] of counts)
      expect(Math.abs(chanceOf(confirmations, within(most)) - count / runs), String(most)).toBeLessThan(0.08)
  })

  it('ask more for a greater chance and a shorter time, and never confirm what too much overtakes', () => {
    const capacity = CAPACITY / SPACING
    const arriving = steps((rate) => (2 * capacity) / (1 + rate / 5))
    const futures = market(
      steps((rate) => (20 * CAPACITY) / (1 + rate)),
      arriving,
    )
    const rates = [1, 3, 6, 24, 144].map((blocks) =>
      [0.5, 0.8, 0.95].map((chance) => futures.rateFor(within(blocks), chance)!),
    )
    for (const [index, row] of rates.entries()) {
      expect([...row].sort((one, other) => one - other)).toEqual(row)
      for (const [at, rate] of row.entries())
        expect(rate).toBeLessThanOrEqual(rates[index - 1]?.[at] ?? Number.POSITIVE_INFINITY)
    }
    expect(rates[0]![2]).toBeGreaterThan(2 * rates[4]![0]!)
    const lowest = futures.confirmations(0.1)
    expect(chanceOf(lowest, within(FUTURE_BLOCKS))).toBeLessThan(0.05)
    expect(lowest.some(({ blocks, seconds }) => blocks === Infinity && seconds === Infinity)).toBe(true)
  })

  it('are the same each time', () => {
    const make = () =>
      market(
        steps(() => 5 * CAPACITY),
        steps(() => 1_000),
      ).confirmations(3)
    expect(make()).toEqual(make())
  })
})
