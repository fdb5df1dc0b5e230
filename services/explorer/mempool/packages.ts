import { packagesOf, type ProjectedPackage } from './projection.js'
import type { ShownTx } from './shown-tx.js'

/** The unconfirmed transactions, and which of them spend from which. */
export interface TxGraph {
  get(txid: string): ShownTx | undefined
  /** Returns the transactions that spend outputs of another one. */
  childrenOf(txid: string): Iterable<ShownTx>
}

/**
 * The maximum number of connected transactions whose packages are computed. Nodes limit the ancestors of a transaction to 25, or its
 * cluster to 64, so there are few that are larger; their transactions have the fee rates that they pay themselves.
 */
const MAX_CLUSTER = 1_000

/**
 * Returns the transactions that a projection takes in another package than before, with that package. Which it takes depends only on
 * the transactions that are connected to them, so the cost is that of the clusters that have changed, however large the mempool.
 * @param changed transactions that are new, or have lost a parent or a child.
 */
export function repackaged(changed: Iterable<ShownTx>, graph: TxGraph): ShownTx[] {
  const found: ShownTx[] = []
  const seen = new Set<string>()
  const excessive = new Set<string>()
  for (const start of changed) {
    if (seen.has(start.txid)) continue
    const { txs, isComplete } = clusterOf(start, graph, excessive)
    const packages = isComplete && txs.length > 1 ? packagesOf(txs) : undefined
    for (const tx of txs) {
      seen.add(tx.txid)
      if (!isComplete) excessive.add(tx.txid)
      const packaged = sharedWithOthers(packages?.get(tx.txid), tx)
      if (packaged?.fee !== tx.packaged?.fee || packaged?.vsize !== tx.packaged?.vsize)
        found.push({ ...tx, packaged })
    }
  }
  return found
}

const sharedWithOthers = (
  packaged: ProjectedPackage | undefined,
  { vsize }: ShownTx,
): ProjectedPackage | undefined => (packaged?.vsize === vsize ? undefined : packaged)

/**
 * Returns a transaction and all that are connected to it, or the first ones if they are too many.
 * @param excessive transactions that are known to be connected to too many.
 */
function clusterOf(
  start: ShownTx,
  graph: TxGraph,
  excessive: ReadonlySet<string>,
): { readonly txs: readonly ShownTx[]; readonly isComplete: boolean } {
  const cluster = new Map([[start.txid, start]])
  for (const tx of cluster.values()) {
    for (const next of neighboursOf(tx, graph)) {
      if (excessive.has(next.txid) || cluster.size > MAX_CLUSTER)
        return { txs: [...cluster.values()], isComplete: false }
      cluster.set(next.txid, next)
    }
  }
  return { txs: [...cluster.values()], isComplete: true }
}

/** Yields the unconfirmed parents and children of a transaction. */
export function* neighboursOf({ txid, outpoints }: ShownTx, graph: TxGraph): Generator<ShownTx> {
  for (const outpoint of outpoints) {
    const parent = graph.get(outpoint.slice(0, 64))
    if (parent !== undefined) yield parent
  }
  yield* graph.childrenOf(txid)
}
