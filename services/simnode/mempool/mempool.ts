import { sumOf } from '../../../pipelines/chain/amount.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'
import { addOutputs } from '../chain/block-draft.js'
import { type Coin, CoinSet, outpoint } from '../chain/coin-set.js'
import type { SimTx } from '../chain/sim-tx.js'

export interface PoolEntry {
  readonly tx: SimTx
  readonly weight: number
  readonly vsize: number
  /** What it spends, in the order of its inputs. */
  readonly spends: readonly Coin[]
  readonly fee: bigint
  /** Unix seconds on the chain's clock. */
  readonly time: number
  /** The tip's height when it entered. */
  readonly height: number
  /** Pool transactions whose outputs it spends. */
  readonly parents: Set<PoolEntry>
  /** Pool transactions that spend its outputs. */
  readonly children: Set<PoolEntry>
  /** Counts up with every arrival. */
  readonly order: number
}

/** The unconfirmed transactions: each spends unspent outputs of the chain or of another one, and no two spend the same. */
export class Mempool {
  readonly #entries = new Map<string, PoolEntry>()
  readonly #spenders = new Map<string, PoolEntry>()
  /** Unspent outputs of mempool transactions. */
  readonly coins = new CoinSet()
  #time = 0
  #height = 0
  #arrivals = 0

  /** @param chainCoins the unspent outputs of the chain's tip. */
  constructor(
    private readonly chainCoins: CoinSet,
    private readonly network: Network,
  ) {}

  get size(): number {
    return this.#entries.size
  }

  /** In the order in which they came. */
  entries(): IterableIterator<PoolEntry> {
    return this.#entries.values()
  }

  get(txid: string): PoolEntry | undefined {
    return this.#entries.get(txid)
  }

  /** Time and height that the next ones to enter get. */
  setClock(time: number, height: number): void {
    this.#time = time
    this.#height = height
  }

  isSpent(coin: Coin): boolean {
    return this.#spenders.has(outpoint(coin.txid, coin.vout))
  }

  /** Takes a transaction in; undefined, and no change, if an input is not there, or spent by another mempool transaction. */
  accept(tx: SimTx): PoolEntry | undefined {
    if (this.#entries.has(tx.txid)) return undefined
    const parents = new Set<PoolEntry>()
    const spends: Coin[] = []
    for (const { prevTxid, prevVout } of tx.inputs) {
      const parent = this.#entries.get(prevTxid)
      const coin =
        parent === undefined ? this.chainCoins.get(prevTxid, prevVout) : this.coins.get(prevTxid, prevVout)
      if (coin === undefined || this.#spenders.has(outpoint(prevTxid, prevVout))) return undefined
      if (parent !== undefined) parents.add(parent)
      spends.push(coin)
    }
    const fee = sumOf(spends) - sumOf(tx.outputs)
    if (fee < 0n) return undefined
    const weight = weightOf(tx, this.network)
    const entry: PoolEntry = {
      tx,
      weight,
      vsize: vsizeOf(weight, this.network),
      spends,
      fee,
      time: this.#time,
      height: this.#height,
      parents,
      children: new Set(),
      order: this.#arrivals++,
    }
    this.#link(entry)
    return entry
  }

  /** Takes a transaction out with all that spend from it. @returns them, children last. */
  drop(entry: PoolEntry): PoolEntry[] {
    const gone = [...this.withDescendants(entry)]
    for (const each of gone.toReversed()) this.#unlink(each)
    return gone
  }

  /** The transaction and all mempool transactions that build on it, parents before children. */
  withDescendants(entry: PoolEntry): ReadonlySet<PoolEntry> {
    return closure(entry, (each) => each.children)
  }

  /** The transaction and all mempool transactions that it builds on, parents before children. */
  withAncestors(entry: PoolEntry): ReadonlySet<PoolEntry> {
    return closure(entry, (each) => each.parents)
  }

  /** Up to `count` transactions for a block, the best paying first, but never a child before its parents. */
  best(count: number): SimTx[] {
    const byRate = [...this.#entries.values()].sort((a, b) => rateOf(b) - rateOf(a))
    const chosen = new Set<PoolEntry>()
    for (const entry of byRate) {
      if (chosen.size >= count) break
      if (chosen.has(entry)) continue
      const family = this.withAncestors(entry)
      if (chosen.size + [...family].filter((each) => !chosen.has(each)).length > count) continue
      for (const each of family) chosen.add(each)
    }
    return [...chosen].map((entry) => entry.tx)
  }

  /**
   * After the chain has moved: everything is tried again, the transactions of blocks that left first, then what was here.
   * What the new chain holds, or conflicts with, no longer finds its inputs and falls out.
   */
  rebuild(returning: readonly SimTx[]): void {
    const before = [...this.#entries.values()]
    this.#clear()
    for (const tx of returning) this.accept(tx)
    const { time, height } = { time: this.#time, height: this.#height }
    for (const entry of before) {
      this.setClock(entry.time, entry.height)
      this.accept(entry.tx)
    }
    this.setClock(time, height)
  }

  #clear(): void {
    for (const entry of [...this.#entries.values()].reverse()) this.#unlink(entry)
  }

  #link(entry: PoolEntry): void {
    this.#entries.set(entry.tx.txid, entry)
    for (const { prevTxid, prevVout } of entry.tx.inputs) {
      this.#spenders.set(outpoint(prevTxid, prevVout), entry)
      this.coins.remove(prevTxid, prevVout)
    }
    for (const parent of entry.parents) parent.children.add(entry)
    addOutputs(this.coins, entry.tx, undefined)
  }

  #unlink(entry: PoolEntry): void {
    entry.tx.outputs.forEach((_, vout) => this.coins.remove(entry.tx.txid, vout))
    for (const coin of entry.spends) {
      this.#spenders.delete(outpoint(coin.txid, coin.vout))
      if (coin.height === undefined) this.coins.add(coin)
    }
    for (const parent of entry.parents) parent.children.delete(entry)
    this.#entries.delete(entry.tx.txid)
  }
}

/** Base units a vbyte. */
export function rateOf(entry: PoolEntry): number {
  return Number(entry.fee) / entry.vsize
}

/** Everything reached from an entry, in the order of arrival: parents come before their children. */
function closure(
  entry: PoolEntry,
  next: (entry: PoolEntry) => ReadonlySet<PoolEntry>,
): ReadonlySet<PoolEntry> {
  const reached = new Set<PoolEntry>()
  const stack = [entry]
  for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
    if (reached.has(each)) continue
    reached.add(each)
    stack.push(...next(each))
  }
  return new Set([...reached].sort((a, b) => a.order - b.order))
}
