import type { MempoolTx } from '../../mempool/mempool-tx.js'

/** The effect of a block, connected since the last comparison of the mempool, on a transaction of the mempool. */
export interface BlockEffect {
  readonly kind: 'confirmed' | 'conflict'
  readonly block: string
  readonly height: number
  /** The transaction of the block that spends one of its inputs; for `confirmed` the transaction itself. */
  readonly txid: string
}

/** The reason for which a transaction left the mempool. */
export type Cause =
  | { readonly reason: 'confirmed'; readonly block: string; readonly height: number }
  | { readonly reason: 'replaced'; readonly by: string }
  | { readonly reason: 'evicted' | 'expired' | 'unknown' }

export interface Left {
  readonly tx: MempoolTx
  readonly cause: Cause
  /** True if it, or an ancestor in the mempool, signalled that it may be replaced; undefined if it was not replaced. */
  readonly signalled?: boolean
}

/** A transaction that a block confirmed before it was seen in the mempool. */
export interface Passed {
  readonly txid: string
  /** Base units. */
  readonly fee: bigint
  readonly vsize: number
  readonly block: string
  readonly height: number
}

export interface MempoolChange {
  readonly entered: readonly string[]
  readonly left: readonly string[]
}

/** Compares the known transactions with the node's list. `entered` has the order of the list. */
export function mempoolChange(txs: ReadonlyMap<string, unknown>, listed: readonly string[]): MempoolChange {
  const there = new Set(listed)
  const entered: string[] = []
  for (const txid of there) if (!txs.has(txid)) entered.push(txid)
  if (txs.size + entered.length === there.size) return { entered, left: [] }
  return { entered, left: [...txs.keys()].filter((txid) => !there.has(txid)) }
}

/** Compares transactions by the time at which the node received them; transactions of one second by their ids. */
export function bySeen(one: MempoolTx, other: MempoolTx): number {
  return one.firstSeen - other.firstSeen || (one.txid < other.txid ? -1 : 1)
}

/**
 * Returns why a transaction has left the mempool, as far as its inputs and its age show it: a block contains it, or another transaction
 * spends one of its inputs, in the mempool or in a block, or it is older than the node allows; undefined for none of these.
 * @param spenderOf returns the transaction of the current mempool that spends an output.
 * @param expiredBefore the time before which the node has dropped transactions for their age, in Unix seconds.
 */
export function ownCause(
  tx: MempoolTx,
  effect: BlockEffect | undefined,
  spenderOf: (outpoint: string) => string | undefined,
  expiredBefore: number,
): Cause | undefined {
  if (effect?.kind === 'confirmed') return { reason: 'confirmed', block: effect.block, height: effect.height }
  for (const outpoint of tx.outpoints) {
    const by = spenderOf(outpoint)
    if (by !== undefined && by !== tx.txid) return { reason: 'replaced', by }
  }
  if (effect !== undefined) return { reason: 'replaced', by: effect.txid }
  return tx.firstSeen < expiredBefore ? { reason: 'expired' } : undefined
}

/**
 * Returns why each of some transactions has left, in their order; undefined where nothing shows it. Descendants leave with the
 * transaction that they spend from, for the same reason, unless a block confirms it.
 * @param own returns the cause that a transaction shows by itself.
 */
export function causesOf(
  left: readonly MempoolTx[],
  own: (tx: MempoolTx) => Cause | undefined,
): readonly (Cause | undefined)[] {
  const causes = new Map<string, Cause>()
  const children = new Map<string, string[]>(left.map(({ txid }) => [txid, []]))
  for (const tx of left) {
    const cause = own(tx)
    if (cause !== undefined) causes.set(tx.txid, cause)
    for (const outpoint of tx.outpoints) children.get(outpoint.slice(0, 64))?.push(tx.txid)
  }
  // Visits the descendants that are added meanwhile too.
  for (const [txid, cause] of causes) {
    if (cause.reason === 'confirmed') continue
    for (const child of children.get(txid) ?? []) if (!causes.has(child)) causes.set(child, cause)
  }
  return left.map(({ txid }) => causes.get(txid))
}
