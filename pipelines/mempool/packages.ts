import { packagesOf, type ProjectableTx, type ProjectedPackage } from './projection.js'

/** An unconfirmed transaction, with the package in which a projection takes it. */
export interface PackagedTx extends ProjectableTx {
  /** Undefined if a projection takes it alone. */
  readonly packaged?: ProjectedPackage | undefined
}

/** The unconfirmed transactions, and which of them spend from which. */
export interface TxGraph<T extends PackagedTx> {
  get(txid: string): T | undefined
  /** Returns the transactions that spend outputs of a transaction. */
  childrenOf(txid: string): Iterable<T>
}

/** A transaction, and the package in which a projection takes it now. */
export interface Repackaged<T extends PackagedTx> {
  readonly tx: T
  readonly packaged: ProjectedPackage | undefined
}

/** Returns the fee and the size that determine the effective fee rate of a transaction. */
export const effectiveOf = (tx: Pick<PackagedTx, 'fee' | 'vsize' | 'packaged'>): ProjectedPackage =>
  tx.packaged ?? tx

/**
 * The maximum number of connected transactions whose packages are computed. Bitcoin Core limits a cluster to 64 transactions from
 * version 31 on; earlier versions limit ancestors and descendants to 25 each, which larger clusters can satisfy. In a larger one all
 * transactions have the fee rates that they pay themselves.
 */
export const MAX_CLUSTER = 1_000

/**
 * Returns the transactions that a projection takes in another package than before, with that package. Which it takes depends only on
 * the transactions that are connected to them, so the cost depends on the clusters that have changed, not on the size of the mempool.
 * @param changed transactions that are new, or have lost a parent or a child.
 */
export function repackaged<T extends PackagedTx>(changed: Iterable<T>, graph: TxGraph<T>): Repackaged<T>[] {
  const result: Repackaged<T>[] = []
  const visited = new Set<string>()
  const excessive = new Set<string>()
  for (const start of changed) {
    if (visited.has(start.txid)) continue
    const { txs: connected, isComplete } = clusterOf(start, graph, excessive)
    // Parts of the cluster may have had packages before they were connected.
    const isNew = !isComplete && connected.some(({ packaged }) => packaged !== undefined)
    const txs = isNew ? allConnected(connected, graph) : connected
    const packages = isComplete && txs.length > 1 ? packagesOf(txs) : undefined
    for (const tx of txs) {
      visited.add(tx.txid)
      if (!isComplete) excessive.add(tx.txid)
      const packaged = sharedWithOthers(packages?.get(tx.txid), tx)
      if (packaged?.fee !== tx.packaged?.fee || packaged?.vsize !== tx.packaged?.vsize)
        result.push({ tx, packaged })
    }
  }
  return result
}

const sharedWithOthers = (
  packaged: ProjectedPackage | undefined,
  { vsize }: PackagedTx,
): ProjectedPackage | undefined => (packaged?.vsize === vsize ? undefined : packaged)

/**
 * Returns a transaction and all transactions that are connected to it, or the first of them if they are too many.
 * @param excessive transactions that are known to be connected to too many.
 */
export function clusterOf<T extends PackagedTx>(
  start: T,
  graph: TxGraph<T>,
  excessive: ReadonlySet<string> = new Set(),
): { readonly txs: readonly T[]; readonly isComplete: boolean } {
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

/** Returns transactions and all that are connected to them, however many. */
function allConnected<T extends PackagedTx>(txs: readonly T[], graph: TxGraph<T>): readonly T[] {
  const cluster = new Map(txs.map((tx) => [tx.txid, tx]))
  for (const tx of cluster.values()) for (const next of neighboursOf(tx, graph)) cluster.set(next.txid, next)
  return [...cluster.values()]
}

/** Yields the unconfirmed parents and children of a transaction. */
export function* neighboursOf<T extends PackagedTx>({ txid, outpoints }: T, graph: TxGraph<T>): Generator<T> {
  for (const outpoint of outpoints) {
    const parent = graph.get(outpoint.slice(0, txid.length))
    if (parent !== undefined) yield parent
  }
  yield* graph.childrenOf(txid)
}
