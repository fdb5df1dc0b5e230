import { naiveBlocks, type NaiveMempoolTx } from './naive-fees.js'

/** A transaction of a block or of the mempool. */
export interface NaiveTx {
  readonly txid: string
  readonly fee: bigint
  readonly vsize: number
  readonly weight: number
  /** The outputs that it spends, `txid:vout`. */
  readonly spends: readonly string[]
  /** When the node first saw it; for one of a block, when the block became known; Unix seconds. */
  readonly firstSeen: number
}

export interface NaiveBlockTxs {
  readonly hash: string
  readonly height: number
  /** Without the coinbase. */
  readonly txs: readonly NaiveTx[]
}

/** The transactions that were expected of a block, and those that it has. */
export interface NaiveExpectation {
  readonly expected: ReadonlySet<string>
  readonly mined: readonly NaiveTx[]
  /** All transactions of the mempool just before the block. */
  readonly mempool: ReadonlyMap<string, NaiveTx>
}

/** The mempool of a node, as lists: what it listed last, and the blocks since. */
export class NaiveMempool {
  txs = new Map<string, NaiveTx>()
  /** Blocks by hash, the first time that they were connected. */
  readonly expectations = new Map<string, NaiveExpectation>()

  constructor(private readonly maxWeight: number) {}

  /** Takes the list of the node. */
  list(txs: readonly NaiveTx[]): void {
    this.txs = new Map(txs.map((tx) => [tx.txid, tx]))
  }

  connect({ hash, txs }: NaiveBlockTxs): void {
    const [best] = naiveBlocks(this.nodes(), this.maxWeight, 1)
    const expected = best?.txids ?? new Set<string>()
    if (!this.expectations.has(hash))
      this.expectations.set(hash, { expected, mined: txs, mempool: new Map(this.txs) })
    for (const { txid } of txs) this.txs.delete(txid)
    const spent = new Set(txs.flatMap(({ spends }) => spends))
    const lost = [...this.txs.values()].filter(({ spends }) => spends.some((each) => spent.has(each)))
    for (const { txid } of lost) {
      this.txs.delete(txid)
      for (const child of this.txs.values())
        if (child.spends.some((each) => each.startsWith(txid)) && !lost.includes(child)) lost.push(child)
    }
  }

  disconnect({ txs }: NaiveBlockTxs): void {
    for (const tx of txs) if (!this.txs.has(tx.txid)) this.txs.set(tx.txid, tx)
  }

  /** Returns the transactions for the naive projection. */
  nodes(): NaiveMempoolTx[] {
    return [...this.txs.values()].map((tx) => {
      const parents = new Set(tx.spends.map((each) => each.slice(0, 64)))
      return { ...tx, depends: [...parents].filter((txid) => this.txs.has(txid)) }
    })
  }
}

/**
 * Returns the virtual size of transactions of a mempool by bands of their effective fee rates.
 * @param txs all of the mempool.
 * @param edges base units per virtual byte.
 */
export function naiveBands(
  txs: readonly NaiveMempoolTx[],
  edges: readonly number[],
  isCounted: (txid: string) => boolean = () => true,
): number[] {
  const bands = edges.map(() => 0)
  const [all] = naiveBlocks(txs, Number.POSITIVE_INFINITY, 1)
  for (const tx of txs.filter(({ txid }) => isCounted(txid))) {
    const { fee, vsize } = all!.packages.get(tx.txid)!
    const band = edges.findLastIndex((edge) => Number(fee) / vsize >= edge)
    bands[band]! += tx.vsize
  }
  return bands
}
