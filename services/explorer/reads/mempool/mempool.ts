import { feeRate } from '../../../../pipelines/chain/feerate.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import { limit } from '../arguments.js'
import { isoTime } from '../chain/block-rows.js'
import { declareRead } from '../read.js'
import { listed, MempoolSummary, MempoolTransaction } from '../shapes.js'

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
      ...{ txCount: mempool.size, totalVsize: vsize, totalFees: fees.toString() },
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

function toItem(tx: ShownTx): MempoolTransaction {
  return {
    txid: tx.txid,
    fee: tx.fee.toString(),
    vsize: tx.vsize,
    weight: tx.weight,
    size: tx.size,
    fee_rate: feeRate(tx.fee, tx.vsize),
    value: tx.value.toString(),
    first_seen: isoTime(tx.firstSeen),
    is_dilithium: tx.isDilithium,
  }
}
