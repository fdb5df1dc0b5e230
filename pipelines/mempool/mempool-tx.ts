import { outpointsOf } from '../chain/prevout.js'
import { parseTx } from '../chain/transaction.js'

/** An unconfirmed transaction as the node gives it and the log has it. */
export interface MempoolTx {
  readonly txid: string
  /** Serialised with witnesses. */
  readonly raw: Buffer
  /** Base units. */
  readonly fee: bigint
  /** Unix seconds. */
  readonly firstSeen: number
  /** The outputs that it spends, as txid:vout. */
  readonly outpoints: readonly string[]
}

/** The same before it is parsed. */
export type MempoolEntry = Omit<MempoolTx, 'outpoints'>

/** @throws RangeError for bytes that are no transaction, Error for those of another one. */
export function mempoolTx({ txid, raw, fee, firstSeen }: MempoolEntry): MempoolTx {
  const tx = parseTx(raw)
  if (tx.txid !== txid) throw new Error(`the bytes of mempool transaction ${txid} hash to ${tx.txid}`)
  return { txid, raw, fee, firstSeen, outpoints: outpointsOf(tx) }
}
