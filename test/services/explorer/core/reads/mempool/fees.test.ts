import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../../pipelines/chain/networks.js'
import type { BlockFees } from '../../../../../../services/explorer/core/reads/chain/fee-history.js'
import {
  congestionOf,
  minimumOf,
  recommendations,
} from '../../../../../../services/explorer/core/reads/mempool/fees.js'
import type { RelayFees } from '../../../../../../services/explorer/core/state/state.js'

/** A block whose lowest fee rate is this, in base units per virtual byte. */
const blockAt = (rate: bigint) => {
  const packages = [
    { fee: rate * 100n, vsize: 100 },
    { fee: (rate + 9n) * 100n, vsize: 100 },
  ]
  return { txCount: 2, weight: 3_200, vsize: 200, fees: (2n * rate + 9n) * 100n, packages, txs: [] }
}
const ratesOf = (
  projected: Parameters<typeof recommendations>[0],
  congested: Parameters<typeof recommendations>[1],
  fees?: RelayFees,
) =>
  recommendations(projected, congested, minimumOf(fees)).map(({ blocks, fee, vsize }) => [
    blocks,
    Number(fee) / vsize,
  ])

describe('recommended fees', () => {
  it('are the lowest rates of the blocks that more transactions follow, and otherwise the minimum', () => {
    expect(ratesOf([], undefined)).toEqual([
      [1, 1],
      [3, 1],
      [6, 1],
      [12, 1],
      [30, 1],
    ])
    const four = [30n, 20n, 12n, 5n].map(blockAt)
    expect(ratesOf(four, undefined).slice(0, 3)).toEqual([
      [1, 30],
      [3, 12],
      [6, 1],
    ])
  })

  it('do not rise with the number of blocks, although a later block may have a higher rate', () => {
    const blocks = [10n, 14n, 14n, 3n].map(blockAt)
    expect(ratesOf(blocks, undefined).slice(0, 2)).toEqual([
      [1, 10],
      [3, 10],
    ])
  })

  it('are never below that of recent congestion', () => {
    const four = [30n, 20n, 12n, 5n].map(blockAt)
    expect(ratesOf(four, { fee: 15n, vsize: 1 }).map(([, rate]) => rate)).toEqual([30, 15, 15, 15, 15])
  })

  it('have the minimum of the node, in both directions', () => {
    const rates = (fees: RelayFees) => ratesOf([], undefined, fees).map(([, rate]) => rate)
    expect(rates({ mempoolMin: 5_000n, minRelay: 1_000n })).toEqual([5, 5, 5, 5, 5])
    expect(rates({ mempoolMin: 100n, minRelay: 100n })).toEqual([0.1, 0.1, 0.1, 0.1, 0.1])
    expect(rates({ mempoolMin: 100n, minRelay: 2_000n })).toEqual([2, 2, 2, 2, 2])
    const full = [30n, 20n, 12n, 5n].map(blockAt)
    const [first, three, , , last] = ratesOf(full, undefined, { mempoolMin: 25_500n })
    expect([first, three, last]).toEqual([
      [1, 30],
      [3, 25.5],
      [30, 25.5],
    ])
    const cheap = [3n, 0n, 0n, 0n].map(blockAt)
    expect(ratesOf(cheap, undefined, { mempoolMin: 100n }).slice(0, 2)).toEqual([
      [1, 3],
      [3, 0.1],
    ])
  })

  it('find congestion if at least half of the newest blocks are full: the lowest of their average rates', () => {
    const made = (weight: number, totalFees: bigint): BlockFees => {
      return { height: 1, blockTag: 1, time: 0, txCount: 2, weight, totalFees }
    }
    const [full, free] = [7_700_000, 4_000_000]
    expect(congestionOf([], REGTEST)).toBeUndefined()
    expect(congestionOf([made(full, 500_000n), made(free, 9n), made(free, 9n)], REGTEST)).toBeUndefined()
    expect(congestionOf([made(full, 962_500n), made(full, 481_250n), made(free, 9n)], REGTEST)).toEqual({
      fee: 481_250n,
      vsize: 481_250,
    })
  })
})
