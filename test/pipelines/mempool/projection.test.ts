import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { projecting, uninterrupted } from '../../../pipelines/mempool/projection.js'
import { type NaiveMempoolTx, naiveBlocks } from '../../harness/naive-fees.js'
import { baseUnits } from '../../harness/node-json.js'
import { readFrames } from '../../harness/recording.js'

/** A block of this weight contains a few transactions of the recording. */
const SMALL = 40_000

interface Entry {
  readonly vsize: number
  readonly weight: number
  readonly fees: { readonly base: number }
  readonly depends: readonly string[]
}

const mempools = readFrames()
  .filter(({ mempool }) => Object.keys(mempool).length > 0)
  .map(({ mempool }) =>
    Object.entries(mempool as Readonly<Record<string, Entry>>).map(
      ([txid, { vsize, weight, fees, depends }]): NaiveMempoolTx => {
        return { txid, fee: baseUnits(fees.base), vsize, weight, depends }
      },
    ),
  )

const projectable = (txs: readonly NaiveMempoolTx[]) =>
  txs.map((tx) => ({ ...tx, size: tx.vsize, outpoints: tx.depends.map((txid) => `${txid}:0`) }))

function expectNaive(mempool: readonly NaiveMempoolTx[], maxWeight: number, most: number): void {
  const projected = uninterrupted(projecting(projectable(mempool), maxWeight, most))
  const naive = naiveBlocks(mempool, maxWeight, most)
  expect(projected).toHaveLength(naive.length)
  for (const [index, { txCount, weight, vsize, fees, packages, txs }] of projected.entries()) {
    const expected = naive[index]!
    expect({ txCount, weight, vsize, fees }).toEqual({
      txCount: expected.txids.size,
      weight: expected.weight,
      vsize: expected.vsize,
      fees: expected.fees,
    })
    expect(new Set(txs.map(({ txid }) => txid))).toEqual(expected.txids)
    // Each after the ones that it spends from.
    const places = new Map(txs.map(({ txid }, place) => [txid, place]))
    for (const [place, { outpoints }] of txs.entries())
      for (const outpoint of outpoints) expect(places.get(outpoint.slice(0, 64)) ?? -1).toBeLessThan(place)
    expect(packages.map((each) => Number(each.fee) / each.vsize)).toEqual(
      [...expected.rates].sort((one, other) => one - other),
    )
  }
}

describe('projected blocks', () => {
  it('are those of a naive computation for recorded mempools, in small blocks and in real ones', () => {
    const largest = [...mempools].sort((one, other) => other.length - one.length).slice(0, 40)
    expect(largest[0]!.length).toBeGreaterThan(10)
    for (const txs of largest) {
      expectNaive(txs, SMALL, 8)
      expectNaive(txs, 7_984_000, 8)
    }
    expect(naiveBlocks(largest[0]!, SMALL, 8).length).toBeGreaterThan(1)
  })

  it('are those of a naive computation for families of transactions of any shape', () => {
    const family = fc.array(
      fc.record({
        fee: fc.bigInt(0n, 3_000n),
        vsize: fc.integer({ min: 60, max: 400 }),
        parents: fc.array(fc.nat(), { maxLength: 3 }),
      }),
      { maxLength: 30 },
    )
    fc.assert(
      fc.property(family, fc.integer({ min: 1_000, max: 20_000 }), (made, maxWeight) => {
        const txs = made.map(({ fee, vsize, parents }, index): NaiveMempoolTx => {
          // A parent is made before its child, but has any txid.
          const ids = parents.filter(() => index > 0).map((each) => idOf(each % index))
          return { txid: idOf(index), fee, vsize, weight: vsize * 16, depends: [...new Set(ids)] }
        })
        expectNaive(txs, maxWeight, 4)
      }),
      { numRuns: 300, seed: 7 },
    )
  })

  it('are none for an empty mempool', () => {
    expect(uninterrupted(projecting([], SMALL, 8))).toEqual([])
  })
})

/** Returns different txids whose order is not that of the indexes. */
const idOf = (index: number): string => ((index * 0x9e3779b1) >>> 0).toString(16).padStart(64, '0')
