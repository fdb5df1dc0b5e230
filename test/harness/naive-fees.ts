/** A transaction of a mempool as a node prints it in getrawmempool. */
export interface NaiveMempoolTx {
  readonly txid: string
  readonly fee: bigint
  readonly vsize: number
  readonly weight: number
  /** The unconfirmed transactions that it spends from. */
  readonly depends: readonly string[]
}

export interface NaiveBlock {
  readonly txids: ReadonlySet<string>
  readonly weight: number
  readonly vsize: number
  readonly fees: bigint
  /** Fee rates at which transactions were added, in the order of their addition. */
  readonly rates: readonly number[]
  /** Fee and virtual size of the transactions with which each transaction was added. */
  readonly packages: ReadonlyMap<string, { readonly fee: bigint; readonly vsize: number }>
}

/**
 * Oracle of the projection of blocks: compares all remaining transactions before each choice. The best is that with the
 * highest fee rate together with its ancestors that are not in a block yet, then that with the lowest txid.
 */
export function naiveBlocks(
  mempool: readonly NaiveMempoolTx[],
  maxWeight: number,
  most: number,
): NaiveBlock[] {
  const left = new Map(mempool.map((tx) => [tx.txid, tx]))
  const packageOf = (tx: NaiveMempoolTx): NaiveMempoolTx[] => {
    const found = new Map([[tx.txid, tx]])
    for (const each of found.values())
      for (const txid of each.depends) {
        const parent = left.get(txid)
        if (parent !== undefined) found.set(txid, parent)
      }
    return [...found.values()]
  }
  const sum = (txs: readonly NaiveMempoolTx[], of: 'vsize' | 'weight'): number =>
    txs.reduce((total, tx) => total + tx[of], 0)
  const feesOf = (txs: readonly NaiveMempoolTx[]): bigint => txs.reduce((total, tx) => total + tx.fee, 0n)
  const blocks: NaiveBlock[] = []
  let chosen: NaiveMempoolTx[] = []
  let rates: number[] = []
  let packages = new Map<string, { fee: bigint; vsize: number }>()
  const close = (): void => {
    const txids = new Set(chosen.map(({ txid }) => txid))
    blocks.push({
      txids,
      weight: sum(chosen, 'weight'),
      vsize: sum(chosen, 'vsize'),
      fees: feesOf(chosen),
      rates,
      packages,
    })
    chosen = []
    rates = []
    packages = new Map()
  }
  while (left.size > 0) {
    const best = [...left.values()]
      .map((tx) => ({ tx, txs: packageOf(tx) }))
      .map(({ tx, txs }) => ({ tx, txs, rate: Number(feesOf(txs)) / sum(txs, 'vsize') }))
      .reduce((one, other) => {
        if (one.rate !== other.rate) return one.rate > other.rate ? one : other
        return one.tx.txid < other.tx.txid ? one : other
      })
    if (chosen.length > 0 && sum(chosen, 'weight') + sum(best.txs, 'weight') > maxWeight) {
      close()
      if (blocks.length === most) return blocks
    }
    chosen.push(...best.txs)
    rates.push(best.rate)
    for (const { txid } of best.txs) {
      left.delete(txid)
      packages.set(txid, { fee: feesOf(best.txs), vsize: sum(best.txs, 'vsize') })
    }
  }
  if (chosen.length > 0) close()
  return blocks
}
