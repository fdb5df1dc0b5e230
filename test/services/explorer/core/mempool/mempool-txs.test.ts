import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FeeEntry, feeHistogram } from '../../../../../pipelines/chain/feerate.js'
import { MempoolTxs } from '../../../../../services/explorer/core/mempool/mempool-txs.js'
import { effectiveOf, repackaged } from '../../../../../pipelines/mempool/packages.js'
import type { ShownTx } from '../../../../../services/explorer/core/mempool/shown-tx.js'

/** The properties on which sums and lists depend. */
const fields = {
  fee: fc.bigInt(0n, 100_000n),
  vsize: fc.integer({ min: 60, max: 900 }),
  firstSeen: fc.nat(50),
  moved: fc.option(fc.bigInt(0n, 40n), { nil: undefined }),
}
const shown = fc.record({ ...fields, id: fc.nat(2_000), parents: fc.array(fc.nat(60), { maxLength: 2 }) })

const txidOf = (id: number): string => id.toString(16).padStart(64, '0')

interface Made extends Omit<ShownTx, 'txid' | 'outpoints'> {
  readonly id: number
  readonly parents: readonly number[]
}

/** Parents have lower numbers, so there are no cycles. */
const txOf = ({ id, parents, ...rest }: Made): ShownTx => {
  const outpoints = [...new Set(parents)]
    .filter((parent) => parent < id)
    .map((parent) => `${txidOf(parent)}:${String(id)}`)
  return { ...rest, txid: txidOf(id), outpoints, changes: new Map() }
}

const rateOf = ({ fee, vsize }: FeeEntry): number => Number(fee) / vsize

/** Returns the package in which each transaction is taken, computed from the definition alone. */
function naivePackages(txs: readonly ShownTx[]): Map<string, FeeEntry> {
  const open = new Map(txs.map((tx) => [tx.txid, tx]))
  const packages = new Map<string, FeeEntry>()
  const withAncestors = (tx: ShownTx): ShownTx[] => {
    const found = new Set([tx])
    for (const each of found)
      for (const outpoint of each.outpoints) {
        const parent = open.get(outpoint.slice(0, 64))
        if (parent !== undefined) found.add(parent)
      }
    return [...found]
  }
  const sumOf = (some: readonly ShownTx[]): FeeEntry => ({
    fee: some.reduce((sum, { fee }) => sum + fee, 0n),
    vsize: some.reduce((sum, { vsize }) => sum + vsize, 0),
  })
  while (open.size > 0) {
    const [best = []] = [...open.values()]
      .map(withAncestors)
      .sort(
        (one, other) => rateOf(sumOf(other)) - rateOf(sumOf(one)) || (one[0]!.txid < other[0]!.txid ? -1 : 1),
      )
    for (const { txid } of best) {
      packages.set(txid, sumOf(best))
      open.delete(txid)
    }
  }
  return packages
}

const byAge = (one: ShownTx, other: ShownTx): number =>
  other.firstSeen - one.firstSeen || (one.txid < other.txid ? -1 : 1)

describe('a version of the mempool', () => {
  it('has the sums and lists of its transactions, whatever changes', () => {
    const txs = fc.array(shown, { minLength: 1, maxLength: 900 })
    fc.assert(
      fc.property(txs, fc.array(txs, { maxLength: 4 }), (first, changes) => {
        let version = MempoolTxs.of(first.map((each) => txOf(each as never)))
        const known = new Map([...version.values()].map((tx) => [tx.txid, tx]))
        for (const change of changes) {
          const leaving = change.filter((_, index) => index % 2 === 0).map((each) => txOf(each as never).txid)
          const entering = change.filter((_, index) => index % 2 > 0).map((each) => txOf(each as never))
          version = version.changed(leaving, entering)
          for (const txid of leaving) known.delete(txid)
          for (const tx of entering) known.set(tx.txid, tx)
        }
        const expected = [...known.values()].sort(byAge)
        expect(version.newest(700).map(({ txid }) => txid)).toEqual(
          expected.slice(0, 700).map(({ txid }) => txid),
        )
        const rated = new Map([...version.values()].map((tx) => [tx.txid, effectiveOf(tx)]))
        expect(version.totals()).toEqual({
          vsize: expected.reduce((sum, { vsize }) => sum + vsize, 0),
          fees: expected.reduce((sum, { fee }) => sum + fee, 0n),
          histogram: feeHistogram(expected, ({ txid }) => rated.get(txid)!),
        })
        for (const least of [0n, 39n, 40n]) {
          const moving = expected.filter(({ moved }) => moved !== undefined && moved > least)
          expect(version.moving(least, 25).map(({ txid }) => txid)).toEqual(
            moving.slice(0, 25).map(({ txid }) => txid),
          )
        }
        const txids = [...known.keys()].sort()
        const middle = txids[txids.length >> 1] ?? ''
        expect([...version.txidsAfter('')]).toEqual(txids)
        expect([...version.txidsAfter(middle)]).toEqual(txids.filter((txid) => txid > middle))
      }),
      { numRuns: 60 },
    )
  })

  it('has the package in which a projection takes each transaction, whatever changes', () => {
    const few = fc.array(
      fc.record({ ...fields, id: fc.nat(40), parents: fc.array(fc.nat(40), { maxLength: 3 }) }),
      {
        minLength: 1,
        maxLength: 40,
      },
    )
    fc.assert(
      fc.property(few, fc.array(few, { maxLength: 5 }), (first, changes) => {
        let version = MempoolTxs.of(first.map((each) => txOf(each as never)))
        for (const change of changes) {
          const leaving = change.filter((_, index) => index % 2 === 0).map((each) => txOf(each as never).txid)
          const entering = change.filter((_, index) => index % 2 > 0).map((each) => txOf(each as never))
          version = version.changed(leaving, entering)
        }
        const txs = [...version.values()]
        const naive = naivePackages(txs)
        for (const tx of txs) {
          const { fee, vsize } = effectiveOf(tx)
          expect({ fee, vsize }).toEqual(naive.get(tx.txid))
          const higher = txs.filter((other) => rateOf(naive.get(other.txid)!) > rateOf(naive.get(tx.txid)!))
          expect(version.ahead(tx)).toEqual({
            count: higher.length,
            vsize: higher.reduce((sum, each) => sum + each.vsize, 0),
          })
          for (const outpoint of tx.outpoints) expect(version.spenderOf(outpoint)?.txid).toBe(tx.txid)
        }
      }),
      { numRuns: 150 },
    )
  })

  it('counts the fee of a child for its parent, and forgets it when the child leaves', () => {
    const [parent, child] = [
      txOf({ id: 1, parents: [], fee: 6n, vsize: 200, firstSeen: 1 } as never),
      txOf({ id: 2, parents: [1], fee: 24_720n, vsize: 110, firstSeen: 2 } as never),
    ]
    const bucketOf = (txs: MempoolTxs): string[] =>
      txs
        .totals()
        .histogram.filter(({ count }) => count > 0)
        .map(({ bucket, count }) => `${bucket}: ${String(count)}`)
    const both = MempoolTxs.of([parent]).changed([], [child])
    // (6 + 24,720) / 310 = 79.76.
    expect(bucketOf(both)).toEqual(['50-100: 2'])
    expect(bucketOf(both.changed([child.txid], []))).toEqual(['0-1: 1'])
    expect(bucketOf(both.changed([parent.txid], []))).toEqual(['100+: 1'])
    expect(
      both
        .changed([], [txOf({ id: 3, parents: [], fee: 0n, vsize: 9, firstSeen: 3 } as never)])
        .get(parent.txid),
    ).toBe(both.get(parent.txid))
  })

  it('takes no packages in a cluster that has become too large, in any part of it', () => {
    // Two chains of 600, each with packages: a child pays for the parent before it.
    const chainOf = (first: number) =>
      Array.from({ length: 600 }, (_, index) =>
        txOf({
          id: first + index,
          parents: index === 0 ? [] : [first + index - 1],
          vsize: 100,
          fee: index % 2 === 0 ? 10n : 50_000n,
          firstSeen: 1,
        } as never),
      )
    const before = MempoolTxs.of([...chainOf(0), ...chainOf(1_000)])
    const packaged = (txs: MempoolTxs) => [...txs.values()].filter((tx) => tx.packaged !== undefined).length
    expect(packaged(before)).toBe(1_200)
    const joining = txOf({ id: 2_000, parents: [599, 1_599], fee: 10n, vsize: 100, firstSeen: 2 } as never)
    expect(packaged(before.changed([], [joining]))).toBe(0)
    expect(packaged(MempoolTxs.of([...chainOf(0), ...chainOf(1_000), joining]))).toBe(0)
  })

  it('reads a bounded number of transactions for a change beside a chain of any length', () => {
    const chain = Array.from({ length: 20_000 }, (_, id) =>
      txOf({ id, parents: id === 0 ? [] : [id - 1], fee: 1_000n, vsize: 100, firstSeen: id } as never),
    )
    const txs = new Map(chain.map((tx, id) => [tx.txid, { tx, child: chain[id + 1] }]))
    let lookups = 0
    const graph = {
      get(txid: string) {
        lookups++
        return txs.get(txid)?.tx
      },
      childrenOf(txid: string) {
        lookups++
        const child = txs.get(txid)?.child
        return child === undefined ? [] : [child]
      },
    }
    expect(repackaged(chain.slice(9_000, 9_100), graph)).toEqual([])
    expect(lookups).toBeLessThan(2_500)
  })
})
