import { Type } from '@sinclair/typebox'
import { effectiveOf } from '../../../../pipelines/mempool/packages.js'
import type { ShownTx } from '../../core/mempool/shown-tx.js'
import { declareRead } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { hashIn, text } from './arguments.js'
import { listOf } from './addresses.js'
import { unconfirmed } from './transaction-rows.js'

/** The number of transactions of the list of recent ones. */
const RECENT = 10
/** The least virtual size of a band of the histogram of fee rates. */
const BAND_VSIZE = 50_000
/** The number of transactions, and of txids, of a page. */
const PAGE = { txs: 10, txids: 10_000 }
const TXID_CHARACTERS = 67

/**
 * Returns the histogram of fee rates: bands of at least 50,000 virtual bytes, highest rate first, each with the lowest rate in it.
 * @param txs highest rate first.
 */
export function feeHistogram(txs: Iterable<Pick<ShownTx, 'vsize' | 'fee' | 'packaged'>>): [number, number][] {
  const bands: [number, number][] = []
  let size = 0
  let lowest = 0
  for (const tx of txs) {
    const { fee, vsize } = effectiveOf(tx)
    const rate = Number(fee) / vsize
    if (size > BAND_VSIZE && lowest !== rate) {
      bands.push([lowest, size])
      size = 0
    }
    size += tx.vsize
    lowest = rate
  }
  if (size > 0) bands.push([lowest, size])
  return bands
}

export const mempool = declareRead({
  name: 'esploraMempool',
  path: '/mempool',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve({ mempool: txs }) {
    const { vsize, fees } = txs.totals()
    return { count: txs.size, vsize, total_fee: Number(fees), fee_histogram: feeHistogram(txs.byRate()) }
  },
})

export const mempoolTxids = declareRead({
  name: 'esploraMempoolTxids',
  path: '/mempool/txids',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  async resolve({ mempool: txs, size }) {
    await size.reserve(TXID_CHARACTERS * txs.size)
    return new WrittenAnswer(`[${[...txs.values()].map(({ txid }) => `"${txid}"`).join(',')}]`)
  },
})

export const mempoolRecent = declareRead({
  name: 'esploraMempoolRecent',
  path: '/mempool/recent',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: ({ mempool: txs }) =>
    txs.newest(RECENT).map(({ txid, fee, vsize, value }) => ({
      txid,
      fee: Number(fee),
      vsize,
      // Of the inputs.
      value: Number(value + fee),
    })),
})

/** Yields the items of a page of a list that is sorted by txid. */
function* pageAfter(txids: Iterable<string>, count: number): Generator<string> {
  let taken = 0
  for (const txid of txids) {
    if (taken++ >= count) return
    yield txid
  }
}

const afterArgs = { last: text('the last txid of the page before') }

export const mempoolTxidsPage = declareRead({
  name: 'esploraMempoolTxidsPage',
  path: '/mempool/txids/page',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: ({ mempool: txs }) => [...pageAfter(txs.txidsAfter(''), PAGE.txids)],
})

export const mempoolTxidsAfter = declareRead({
  name: 'esploraMempoolTxidsAfter',
  path: '/mempool/txids/page/:last',
  fresh: 'mempool',
  args: afterArgs,
  answer: Type.Unknown(),
  resolve: ({ mempool: txs }, { last }) => [...pageAfter(txs.txidsAfter(hashIn(last)), PAGE.txids)],
})

export const mempoolTxs = declareRead({
  name: 'esploraMempoolTxs',
  path: '/mempool/txs',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: ({ mempool: txs }) =>
    listOf([...pageAfter(txs.txidsAfter(''), PAGE.txs)].flatMap((txid) => jsonOf(txs.get(txid)))),
})

export const mempoolTxsAfter = declareRead({
  name: 'esploraMempoolTxsAfter',
  path: '/mempool/txs/:last',
  fresh: 'mempool',
  args: afterArgs,
  answer: Type.Unknown(),
  resolve: ({ mempool: txs }, { last }) =>
    listOf([...pageAfter(txs.txidsAfter(hashIn(last)), PAGE.txs)].flatMap((txid) => jsonOf(txs.get(txid)))),
})

const jsonOf = (tx: ShownTx | undefined): string[] => (tx === undefined ? [] : [unconfirmed(tx)])
