import { afterEach, describe, expect, it, vi } from 'vitest'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import type { ChainView } from '../../../../../pipelines/tables/chain-view.js'
import { MempoolTxs } from '../../../../../services/explorer/core/mempool/mempool-txs.js'
import { Projections } from '../../../../../services/explorer/core/state/projections.js'
import type { ShownTx } from '../../../../../services/explorer/core/mempool/shown-tx.js'

const LARGE = 20_000
const VIEW = {} as unknown as ChainView
const NEXT_VIEW = {} as unknown as ChainView

function mempoolOf(count: number, firstId = 0): MempoolTxs {
  const tx = (index: number): ShownTx => {
    const txid = (firstId + index).toString(16).padStart(64, '0')
    return { txid, fee: 500n, vsize: 200, weight: 800, outpoints: [], changes: new Map() } as never
  }
  return MempoolTxs.of(Array.from({ length: count }, (_, index) => tx(index)))
}

const changed = (mempool: MempoolTxs): MempoolTxs =>
  mempool.changed([], [...mempoolOf(1, 0xffff_ffff).values()])
const txsOf = (blocks: readonly { readonly txCount: number }[]): number =>
  blocks.reduce((sum, { txCount }) => sum + txCount, 0)

afterEach(() => vi.useRealTimers())

describe('projections', () => {
  it('are of each version of a small mempool', async () => {
    const projections = new Projections()
    expect((await projections.of(MempoolTxs.NONE, VIEW, REGTEST)).blocks).toEqual([])
    const mempool = mempoolOf(500)
    expect(txsOf((await projections.of(mempool, VIEW, REGTEST)).blocks)).toBe(500)
    const next = await projections.of(changed(mempool), VIEW, REGTEST)
    expect({ txs: txsOf(next.blocks), untilMs: next.untilMs }).toEqual({ txs: 501, untilMs: undefined })
  })

  it('of a large mempool are made beside other work, once for all who wait', async () => {
    const projections = new Projections()
    const mempool = mempoolOf(LARGE)
    let turns = 0
    const counting = setInterval(() => turns++)
    const all = [mempool, changed(mempool), mempool].map((each) => projections.of(each, VIEW, REGTEST))
    const [one, other, again] = await Promise.all(all)
    clearInterval(counting)
    expect(turns).toBeGreaterThan(1)
    expect(txsOf(one!.blocks)).toBe(LARGE)
    expect(other!.blocks).toBe(one!.blocks)
    expect(again!.blocks).toBe(one!.blocks)
  })

  it('of a large mempool serve for its next versions until the one after the rest has ended, or a block arrives', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const projections = new Projections()
    const mempool = mempoolOf(LARGE)
    const next = changed(mempool)
    const of = async (version: MempoolTxs, view: ChainView) => {
      const { blocks, untilMs } = await projections.of(version, view, REGTEST)
      return { txs: txsOf(blocks), isOlder: untilMs !== undefined && untilMs > Date.now() }
    }
    expect(await of(mempool, VIEW)).toEqual({ txs: LARGE, isOlder: false })
    expect(await of(next, VIEW)).toEqual({ txs: LARGE, isOlder: true })
    expect(await of(next, NEXT_VIEW)).toEqual({ txs: LARGE + 1, isOlder: false })
    expect(await of(changed(next), NEXT_VIEW)).toEqual({ txs: LARGE + 1, isOlder: true })
    vi.setSystemTime(Date.now() + 3_600_000)
    // It begins the next one, and does not wait for it.
    const last = mempoolOf(LARGE + 5)
    expect(await of(last, NEXT_VIEW)).toEqual({ txs: LARGE + 1, isOlder: true })
    expect(await of(changed(last), NEXT_VIEW)).toEqual({ txs: LARGE + 1, isOlder: true })
    expect(await of(last, NEXT_VIEW)).toEqual({ txs: LARGE + 5, isOlder: false })
    expect(await of(changed(last), NEXT_VIEW)).toEqual({ txs: LARGE + 5, isOlder: true })
  })
})
