import type { Tx } from '../../../../pipelines/chain/transaction.js'
import { outpointOf } from '../../../../pipelines/chain/prevout.js'
import type { MempoolTxs } from './mempool-txs.js'

/** An input of an unconfirmed transaction. */
export interface UnconfirmedSpender {
  readonly txid: string
  readonly vin: number
}

/** Returns the unconfirmed inputs that spend outputs of a transaction, by the index of the output. */
export function spendersOf(
  mempool: MempoolTxs,
  { txid, outputs }: Pick<Tx, 'txid' | 'outputs'>,
): ReadonlyMap<number, UnconfirmedSpender> {
  const spenders = new Map<number, UnconfirmedSpender>()
  for (const vout of outputs.keys()) {
    const outpoint = outpointOf(txid, vout)
    const spender = mempool.spenderOf(outpoint)
    if (spender !== undefined)
      spenders.set(vout, { txid: spender.txid, vin: spender.outpoints.indexOf(outpoint) })
  }
  return spenders
}
