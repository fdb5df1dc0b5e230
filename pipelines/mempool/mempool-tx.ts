import { outpointsOf } from '../chain/prevout.js'
import { parseTx } from '../chain/transaction.js'

/** An unconfirmed transaction, as the node reports it and the log contains it. */
export interface MempoolTx {
  readonly txid: string
  /** Serialised with witnesses. */
  readonly raw: Buffer
  /** Fee in base units. */
  readonly fee: bigint
  /** Time at which the node first saw it, in Unix seconds. */
  readonly firstSeen: number
  /** The outputs that it spends, as txid:vout. */
  readonly outpoints: readonly string[]
}

/** An unconfirmed transaction that was not parsed. */
export type MempoolEntry = Omit<MempoolTx, 'outpoints'>

/** Parses an entry. @throws RangeError for bytes that are not a transaction; Error for the bytes of another transaction. */
export function mempoolTx({ txid, raw, fee, firstSeen }: MempoolEntry): MempoolTx {
  const tx = parseTx(raw)
  if (tx.txid !== txid) throw new Error(`the bytes of mempool transaction ${txid} hash to ${tx.txid}`)
  return { txid, raw, fee, firstSeen, outpoints: outpointsOf(tx) }
}
