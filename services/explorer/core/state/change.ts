/** A change of the state. An answer that was made before it is valid afterwards if it depends on nothing that has changed. */
export interface Change {
  /** `head`: the chain, `mempool`: its transactions or the fees that it requires, `heartbeat`: the newest applied heartbeat, `condition`: the trouble of the explorer. */
  readonly kind: 'head' | 'mempool' | 'heartbeat' | 'condition'
  /**
   * Hashes of the blocks, transactions and scripts that it touches: blocks that were connected or disconnected; transactions that
   * were confirmed, entered or left the mempool, or of which an output was spent; scripts of outputs that were created or spent.
   * Undefined if any may be affected.
   */
  readonly touched: ReadonlySet<string> | undefined
}

/** The hashes of a change that touches none. */
export const NOTHING: ReadonlySet<string> = new Set()
