import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../../pipelines/chain/networks.js'
import { serializeTx } from '../../../../../../pipelines/chain/transaction.js'
import { MempoolTxs } from '../../../../../../services/explorer/core/mempool/mempool-txs.js'
import {
  type Coin,
  type ShownTx,
  shownTx,
} from '../../../../../../services/explorer/core/mempool/shown-tx.js'
import { transaction } from '../../../../../../services/explorer/core/reads/chain/transactions.js'
import {
  mempoolSummary,
  mempoolTransactions,
} from '../../../../../../services/explorer/core/reads/mempool/mempool.js'
import { AnswerSize, MakingMemory } from '../../../../../../services/explorer/core/reads/answer-size.js'
import type { ReadContext } from '../../../../../../services/explorer/core/reads/read.js'
import { Validity } from '../../../../../../services/explorer/core/reads/validity.js'
import type { WrittenAnswer } from '../../../../../../services/explorer/core/reads/written-answer.js'
import { NO_CHAIN } from '../../../../../../services/explorer/core/state/state.js'
import { Cancellation } from '../../../../../../services/explorer/core/tables/cancellation.js'

const P2WPKH = Buffer.from(`0014${'ab'.repeat(20)}`, 'hex')

function unconfirmed(prevTxid: string, outputs: number, fee: bigint): ShownTx {
  const tx = {
    version: 2,
    locktime: 0,
    inputs: [{ prevTxid, prevVout: 0, scriptSig: Buffer.alloc(0), sequence: 0, witness: [] }],
    outputs: Array.from({ length: outputs }, () => ({ value: 1_000n, script: P2WPKH })),
  }
  const coins: Coin[] = [{ value: 5_000n, script: P2WPKH }]
  return shownTx({ raw: serializeTx(tx, true), fee, firstSeen: 1_790_000_000, network: REGTEST }, coins)
}

describe('the fee rates of unconfirmed transactions', () => {
  // 3,926 and 82 virtual bytes.
  const parent = unconfirmed('11'.repeat(32), 125, 118n)
  const child = unconfirmed(parent.txid, 1, 18_430n)
  const mempool = MempoolTxs.of([parent]).changed([], [child])
  const context = {
    chain: { ...NO_CHAIN, network: REGTEST },
    mempool,
    validity: new Validity(),
    size: new AnswerSize(new MakingMemory(), new Cancellation()),
  } as unknown as ReadContext
  const rates = new Map([
    [parent.txid, { fee_rate: '0.03', effective_fee_rate: '4.63' }],
    [child.txid, { fee_rate: '224.76', effective_fee_rate: '4.63' }],
  ])

  it('are their own one and that of their package, in the list', () => {
    const { items } = mempoolTransactions.resolve(context, { limit: 10 }) as {
      items: { txid: string; fee_rate: string; effective_fee_rate: string }[]
    }
    const found = new Map(
      items.map(({ txid, fee_rate, effective_fee_rate }) => [txid, { fee_rate, effective_fee_rate }]),
    )
    expect(found).toEqual(rates)
  })

  it('are the same in the transaction', async () => {
    for (const [txid, expected] of rates) {
      const answer = (await transaction.resolve(context, { txid })) as WrittenAnswer<object>
      expect(answer.parse()).toMatchObject(expected)
    }
  })

  it('count by the package in the histogram', () => {
    const { feeHistogram } = mempoolSummary.resolve(context, {}) as {
      feeHistogram: { bucket: string; count: number; totalVsize: number }[]
    }
    expect(feeHistogram.filter(({ count }) => count > 0)).toEqual([
      { bucket: '3-5', count: 2, totalVsize: parent.vsize + child.vsize },
    ])
  })
})
