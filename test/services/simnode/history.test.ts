import { describe, expect, test } from 'vitest'
import { BITCOIN_REGTEST, REGTEST } from '../../../pipelines/chain/networks.js'
import { type Plan, untilNow } from '../../../services/simnode/history.js'
import { beat } from '../../../services/simnode/life.js'
import { startSimnode } from '../../../services/simnode/node.js'
import { SimChain } from '../../../services/simnode/chain/sim-chain.js'
import { Simulation } from '../../../services/simnode/simulation.js'

const DAY = 86_400
/** 2026-11-28T12:00:00Z. */
const START = 1_795_867_200

/** A chain whose time is that of a clock that the test sets. */
function simulate(network = REGTEST): {
  readonly simulation: Simulation
  readonly clock: { now: number }
  readonly plan: Plan
} {
  const clock = { now: START }
  const chain = new SimChain({ network, now: () => clock.now })
  return { simulation: new Simulation(chain, { txsPerBlock: 2 }), clock, plan: untilNow(chain, 30, 10) }
}

/** Returns the times of the best chain from block 1 on, after checking them by the rules of nodes: not in the future, and late enough. */
function validTimes({ chain }: Simulation, now: number): number[] {
  const times = Array.from({ length: chain.tip.height + 1 }, (_, height) => chain.at(height)?.time ?? NaN)
  for (let height = 1; height < times.length; height++) {
    const before = times.slice(Math.max(0, height - 11), height).sort((a, b) => a - b)
    expect(times[height]).toBeGreaterThan(before[before.length >> 1] ?? NaN)
    expect(times[height]).toBeLessThanOrEqual(now)
  }
  return times.slice(1)
}

const daysOf = (times: readonly number[]): Set<number> => new Set(times.map((time) => Math.floor(time / DAY)))

const longestGap = (times: readonly number[]): number =>
  times.slice(1).reduce((most, time, at) => Math.max(most, time - (times[at] ?? 0)), 0)

describe('a history that ends now', () => {
  test.each([REGTEST, BITCOIN_REGTEST])(
    'has blocks on each of 30 days on $name, dense at its end',
    (network) => {
      const { simulation, plan } = simulate(network)
      for (const height of simulation.history(plan)) expect(height).toBeLessThan(3000)
      const times = validTimes(simulation, START)
      expect(times[0]).toBeGreaterThanOrEqual(START - 30 * DAY)
      expect(daysOf(times).size).toBe(31)
      expect(START - (times.at(-1) ?? 0)).toBeLessThanOrEqual(network.blockSpacing)
      const recent = times.filter((time) => time > START - 7200).length
      const expected = 7200 / network.blockSpacing
      expect(recent).toBeGreaterThan(expected / 2)
      expect(recent).toBeLessThan(expected * 2)
    },
  )

  test('continues now: later blocks, also of reorganisations, have the time of the clock', () => {
    const { simulation, clock, plan } = simulate()
    Array.from(simulation.history(plan))
    const { height } = simulation.chain.tip
    for (let tick = 1; tick <= 300; tick++) {
      clock.now += 2
      beat(simulation, { blockIntervalMs: 10_000, reorgRate: 0.3, reorgDepth: 3, plan }, tick)
      if (tick % 5 === 0) expect(clock.now - simulation.chain.tip.time).toBeLessThanOrEqual(1)
    }
    validTimes(simulation, clock.now)
    expect(simulation.chain.leaves().length).toBeGreaterThan(3)
    expect(simulation.chain.tip.height - height).toBeGreaterThanOrEqual(60)
  })

  test('is continued without a gap after a pause of five days, and at most for 30 days after a longer one', () => {
    const { simulation, clock, plan } = simulate()
    Array.from(simulation.history(plan))
    const before = simulation.chain.tip.height
    clock.now += 5 * DAY
    beat(simulation, { blockIntervalMs: 10_000, plan }, 1)
    const filled = validTimes(simulation, clock.now).slice(before - 1)
    expect(daysOf(filled).size).toBe(6)
    expect(longestGap(filled)).toBeLessThan(DAY)
    clock.now += 300 * DAY
    beat(simulation, { blockIntervalMs: 10_000, plan }, 2)
    const times = validTimes(simulation, clock.now)
    expect(longestGap(times)).toBeGreaterThanOrEqual(270 * DAY)
    expect(times.filter((time) => time > clock.now - 31 * DAY).length).toBeGreaterThan(500)
  })

  test('has a mempool at its end, whose transactions entered in the last minutes', async () => {
    const node = await startSimnode({ days: 1 })
    try {
      const now = Date.now() / 1000
      const times = [...node.simulation.mempool.entries()].map(({ time }) => time)
      expect(times.length).toBeGreaterThan(30)
      expect(new Set(times).size).toBeGreaterThan(20)
      for (const time of times) {
        expect(time).toBeLessThanOrEqual(now)
        expect(time).toBeGreaterThan(now - 300)
      }
      expect(now - node.chain.tip.time).toBeLessThan(90)
    } finally {
      await node.close()
    }
  })
})
