import type { MempoolTx } from '../../mempool/mempool-tx.js'

/** What a block, connected since the last look at the mempool, did to a transaction of the mempool. */
export interface BlockEffect {
  readonly kind: 'confirmed' | 'conflict'
  readonly block: string
  /** The transaction of the block that spends an input of it; for `confirmed` the transaction itself. */
  readonly txid: string
}

export type Left =
  | { readonly txid: string; readonly reason: 'confirmed'; readonly block: string }
  | { readonly txid: string; readonly reason: 'replaced'; readonly by: string }
  | { readonly txid: string; readonly reason: 'evicted' }

export interface MempoolChange {
  readonly entered: readonly string[]
  readonly left: readonly string[]
}

/** Compares what is known with what the node lists now; what entered in the order of the list. */
export function mempoolChange(known: ReadonlyMap<string, unknown>, listed: readonly string[]): MempoolChange {
  const there = new Set(listed)
  const entered: string[] = []
  for (const txid of there) if (!known.has(txid)) entered.push(txid)
  if (known.size + entered.length === there.size) return { entered, left: [] }
  return { entered, left: [...known.keys()].filter((txid) => !there.has(txid)) }
}

/** The order in which the node saw transactions; those of one second by their ids. */
export function bySeen(one: MempoolTx, other: MempoolTx): number {
  return one.firstSeen - other.firstSeen || (one.txid < other.txid ? -1 : 1)
}

/**
 * Why a transaction is not in the mempool any more. A block that holds it explains it best; then another spend of one of its
 * inputs, in the mempool or in a block; what is left was evicted (for its size, its age, or because its parent was replaced).
 * @param spenderOf which other transaction of the mempool as it is now spends an output
 */
export function reasonLeft(
  tx: MempoolTx,
  effect: BlockEffect | undefined,
  spenderOf: (outpoint: string) => string | undefined,
): Left {
  if (effect?.kind === 'confirmed') return { txid: tx.txid, reason: 'confirmed', block: effect.block }
  for (const outpoint of tx.outpoints) {
    const by = spenderOf(outpoint)
    if (by !== undefined && by !== tx.txid) return { txid: tx.txid, reason: 'replaced', by }
  }
  if (effect !== undefined) return { txid: tx.txid, reason: 'replaced', by: effect.txid }
  return { txid: tx.txid, reason: 'evicted' }
}
