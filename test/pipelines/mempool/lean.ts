import { networkNamed } from '../../../pipelines/chain/networks.js'
import type { Tx } from '../../../pipelines/chain/transaction.js'
import { LeanTx } from '../../../pipelines/mempool/lean-tx.js'

export const NETWORK = networkNamed('bitcoin-main')

/** A transaction of a test, with its parents' outputs 0, or other outputs, as inputs. */
export interface MadeTx {
  readonly txid: string
  readonly fee: bigint
  readonly vsize: number
  readonly firstSeen: number
  readonly spends: readonly { readonly txid: string; readonly vout: number }[]
}

/** Returns a transaction without witnesses. */
export function leanOf({ txid, fee, vsize, firstSeen, spends }: MadeTx): LeanTx {
  const inputs = spends.map((each) => ({ prevTxid: each.txid, prevVout: each.vout }))
  const tx = { txid, size: vsize, strippedSize: vsize, isCoinbase: false, inputs } as unknown as Tx
  return new LeanTx(tx, { fee, firstSeen }, NETWORK)
}

/** Returns different txids whose order is not that of the numbers. */
export const idOf = (index: number): string =>
  ((index * 0x9e3779b1) >>> 0).toString(16).padStart(8, '0').repeat(8)
