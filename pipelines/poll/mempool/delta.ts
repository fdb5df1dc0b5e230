import type { MempoolTx } from '../../mempool/mempool-tx.js'

/** The effect of a block, connected since the last comparison of the mempool, on a transaction of the mempool. */
export interface BlockEffect {
  readonly kind: 'confirmed' | 'conflict'
  readonly block: string
  /** The transaction of the block that spends one of its inputs; for `confirmed` the transaction itself. */
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

/** Compares the known transactions with the node's list. `entered` has the order of the list. */
export function mempoolChange(known: ReadonlyMap<string, unknown>, listed: readonly string[]): MempoolChange {
  const there = new Set(listed)
  const entered: string[] = []
  for (const txid of there) if (!known.has(txid)) entered.push(txid)
  if (known.size + entered.length === there.size) return { entered, left: [] }
  return { entered, left: [...known.keys()].filter((txid) => !there.has(txid)) }
}

/** Compares transactions by the time at which the node received them; those of the same second by their ids. */
export function bySeen(one: MempoolTx, other: MempoolTx): number {
  return one.firstSeen - other.firstSeen || (one.txid < other.txid ? -1 : 1)
}

/**
 * Returns why a transaction has left the mempool: because a block contains it; else because another transaction spends one of its
 * inputs, in the mempool or in a block; else it was evicted (for its size or age, or because its parent was replaced).
 * @param spenderOf returns the transaction of the current mempool that spends an output.
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
