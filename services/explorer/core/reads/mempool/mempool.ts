import { isoTime } from '../../../../../pipelines/chain/time.js'
import { feeRatesOf, type ShownTx } from '../../mempool/shown-tx.js'
import { limit } from '../arguments.js'
import { cursorOf, decodeCursor, encodeCursor } from '../cursor.js'
import { declareRead } from '../read.js'
import { listed } from '../lists.js'
import { MempoolSummary, MempoolTransaction, MempoolTxids } from '../shapes.js'

export const mempoolSummary = declareRead({
  name: 'mempoolSummary',
  about: 'The number, size and fees of unconfirmed transactions.',
  path: '/mempool/summary',
  fresh: 'mempool',
  args: {},
  answer: MempoolSummary,
  resolve({ mempool }) {
    const { vsize, fees, histogram } = mempool.totals()
    return {
      txCount: mempool.size,
      totalVsize: vsize,
      totalFees: fees.toString(),
      feeHistogram: [...histogram],
    }
  },
})

export const mempoolTransactions = declareRead({
  name: 'mempoolTransactions',
  about: 'The newest unconfirmed transactions.',
  path: '/mempool/txs',
  fresh: 'mempool',
  args: { limit: limit(20, 100) },
  answer: listed(MempoolTransaction),
  resolve: ({ mempool }, { limit }) => ({ items: mempool.newest(limit).map(toItem), limit }),
})

const LIST = 'mempoolTxids'

/** Continues by the txid, so a client that reads all pages receives each transaction that is there all the time exactly once. */
export const mempoolTxids = declareRead({
  name: LIST,
  about: 'The txids of all unconfirmed transactions, in ascending order.',
  path: '/mempool/txids',
  fresh: 'mempool',
  args: {
    limit: limit(1_000, 10_000),
    cursor: cursorOf('continues the list after the part whose `next_cursor` this is'),
  },
  answer: MempoolTxids,
  resolve({ mempool }, { limit, cursor }) {
    const [after = ''] = cursor === undefined ? [] : decodeCursor(LIST, cursor)
    const items: string[] = []
    for (const txid of mempool.txidsAfter(after)) if (items.push(txid) > limit) break
    const last = items.length > limit ? items.slice(0, limit).at(-1) : undefined
    const next_cursor = last === undefined ? null : encodeCursor(LIST, [last])
    return { items: items.slice(0, limit), total: mempool.size, limit, next_cursor }
  },
})

function toItem(tx: ShownTx): MempoolTransaction {
  const { own, effective } = feeRatesOf(tx)
  return {
    txid: tx.txid,
    fee: tx.fee.toString(),
    vsize: tx.vsize,
    weight: tx.weight,
    size: tx.size,
    fee_rate: own,
    effective_fee_rate: effective,
    value: tx.value.toString(),
    first_seen: isoTime(tx.firstSeen),
    is_dilithium: tx.isDilithium,
  }
}
