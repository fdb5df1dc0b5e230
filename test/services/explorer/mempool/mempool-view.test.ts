import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { feeHistogram } from '../../../../pipelines/chain/feerate.js'
import { MempoolTxs } from '../../../../services/explorer/mempool/mempool-view.js'
import type { ShownTx } from '../../../../services/explorer/mempool/shown-tx.js'

/** The properties on which sums and lists depend. */
const shown = fc.record({
  id: fc.nat(2_000),
  fee: fc.bigInt(0n, 100_000n),
  vsize: fc.integer({ min: 60, max: 900 }),
  firstSeen: fc.nat(50),
  moved: fc.option(fc.bigInt(0n, 40n), { nil: undefined }),
})

const txOf = ({ id, ...rest }: Omit<ShownTx, 'txid'> & { readonly id: number }): ShownTx => ({
  ...{ ...rest, txid: id.toString(16).padStart(64, '0'), changes: new Map() },
})

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
        expect(version.newest(700)).toEqual(expected.slice(0, 700))
        expect(version.totals()).toEqual({
          vsize: expected.reduce((sum, { vsize }) => sum + vsize, 0),
          fees: expected.reduce((sum, { fee }) => sum + fee, 0n),
          histogram: feeHistogram(expected),
        })
        for (const least of [0n, 39n, 40n]) {
          const moving = expected.filter(({ moved }) => moved !== undefined && moved > least)
          expect(version.moving(least, 25)).toEqual(moving.slice(0, 25))
        }
      }),
      { numRuns: 60 },
    )
  })
})
