import { scriptHash } from '../../../pipelines/chain/script.js'
import type { Tx } from '../../../pipelines/chain/transaction.js'
import type { MempoolView } from './mempool-view.js'

/** An input of an unconfirmed transaction. */
export interface UnconfirmedSpender {
  readonly txid: string
  readonly vin: number
}

/**
 * Returns the unconfirmed inputs that spend outputs of a transaction, by the index of the output, and the hashes of the scripts under
 * which they are found.
 */
export function spendersOf(
  mempool: MempoolView,
  { txid, outputs }: Pick<Tx, 'txid' | 'outputs'>,
): { readonly spenders: ReadonlyMap<number, UnconfirmedSpender>; readonly scripts: ReadonlySet<string> } {
  const scripts = new Set(outputs.map(({ script }) => scriptHash(script)))
  const spenders = new Map<number, UnconfirmedSpender>()
  const prefix = `${txid}:`
  for (const script of scripts) {
    for (const tx of mempool.ofScript(script)) {
      for (const [vin, outpoint] of tx.outpoints.entries())
        if (outpoint.startsWith(prefix)) spenders.set(Number(outpoint.slice(65)), { txid: tx.txid, vin })
    }
  }
  return { spenders, scripts }
}
