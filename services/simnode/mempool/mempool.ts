import { sumOf } from '../../../pipelines/chain/amount.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'
import { addOutputs } from '../chain/block-draft.js'
import { type Coin, CoinSet, outpoint } from '../chain/coin-set.js'
import type { SimTx } from '../chain/sim-tx.js'

export interface MempoolEntry {
  readonly tx: SimTx
  readonly weight: number
  readonly vsize: number
  /** The coins that it spends, in the order of its inputs. */
  readonly spends: readonly Coin[]
  readonly fee: bigint
  /** Time of entry by the clock of the chain, Unix seconds. */
  readonly time: number
  /** Height of the tip when it entered. */
  readonly height: number
  /** The unconfirmed transactions whose outputs it spends. */
  readonly parents: Set<MempoolEntry>
  /** The unconfirmed transactions that spend its outputs. */
  readonly children: Set<MempoolEntry>
  /** Number of its arrival. */
  readonly order: number
}

/** The unconfirmed transactions. Each spends unspent outputs of the chain or of other unconfirmed transactions, and no two spend the same output. */
export class Mempool {
  readonly #entries = new Map<string, MempoolEntry>()
  readonly #spenders = new Map<string, MempoolEntry>()
  /** Unspent outputs of mempool transactions. */
  readonly coins = new CoinSet()
  #time = 0
  #height = 0
  #arrivals = 0

  /** @param chainCoins the unspent outputs at the tip of the chain. */
  constructor(
    private readonly chainCoins: CoinSet,
    private readonly network: Network,
  ) {}

  get size(): number {
    return this.#entries.size
  }

  /** Returns the entries in the order of their arrival. */
  entries(): IterableIterator<MempoolEntry> {
    return this.#entries.values()
  }

  get(txid: string): MempoolEntry | undefined {
    return this.#entries.get(txid)
  }

  /** Sets time and height for the next transactions that enter. */
  setClock(time: number, height: number): void {
    this.#time = time
    this.#height = height
  }

  /** Returns whether a transaction, or one that it spends from, signals by its inputs that it may be replaced (BIP 125). */
  signalsReplaceability(entry: MempoolEntry): boolean {
    return [...this.withAncestors(entry)].some(({ tx }) => isReplaceable(tx))
  }

  isSpent(coin: Coin): boolean {
    return this.#spenders.has(outpoint(coin.txid, coin.vout))
  }

  /** Returns the unconfirmed transaction that spends an output. */
  spender(txid: string, vout: number): MempoolEntry | undefined {
    return this.#spenders.get(outpoint(txid, vout))
  }

  /** Adds a transaction. @returns undefined, without a change, if an input does not exist or another unconfirmed transaction spends it. */
  accept(tx: SimTx): MempoolEntry | undefined {
    if (this.#entries.has(tx.txid)) return undefined
    const parents = new Set<MempoolEntry>()
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
    const entry: MempoolEntry = {
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

  /** Removes a transaction with its descendants. @returns the removed entries, children last. */
  drop(entry: MempoolEntry): MempoolEntry[] {
    const removed = [...this.withDescendants(entry)]
    for (const each of removed.toReversed()) this.#unlink(each)
    return removed
  }

  /** Returns whether an entry and its relatives are what nodes relay of restricted transactions: one parent with one child. */
  isRelayed({ tx, parents, vsize }: MempoolEntry): boolean {
    const isTruc = tx.version === TRUC
    const [parent, ...others] = parents
    if ([...parents].some((each) => (each.tx.version === TRUC) !== isTruc)) return false
    if (!isTruc) return true
    if (parent === undefined) return vsize <= MAX_TRUC_VSIZE
    const isPair = others.length === 0 && parent.parents.size === 0 && parent.children.size === 1
    return isPair && vsize <= MAX_TRUC_CHILD
  }

  /** Returns the transaction and its unconfirmed descendants, parents before children. */
  withDescendants(entry: MempoolEntry): ReadonlySet<MempoolEntry> {
    return closure(entry, (each) => each.children)
  }

  /** Returns the transaction and its unconfirmed ancestors, parents before children. */
  withAncestors(entry: MempoolEntry): ReadonlySet<MempoolEntry> {
    return closure(entry, (each) => each.parents)
  }

  /** Returns up to `count` transactions for a block, the highest fee rates first, but never a child before its parents. */
  best(count: number): SimTx[] {
    const byRate = [...this.#entries.values()].sort((a, b) => rateOf(b) - rateOf(a))
    const entries = new Set<MempoolEntry>()
    for (const entry of byRate) {
      if (entries.size >= count) break
      if (entries.has(entry)) continue
      const family = this.withAncestors(entry)
      if (entries.size + [...family].filter((each) => !entries.has(each)).length > count) continue
      for (const each of family) entries.add(each)
    }
    return [...entries].map((entry) => entry.tx)
  }

  /**
   * Updates the mempool after a change of the chain: adds all transactions again, first from disconnected blocks, then the previous
   * entries. Transactions that the new chain contains or conflicts with no longer find their inputs and are dropped.
   * @param returning the transactions of the disconnected blocks.
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

  #link(entry: MempoolEntry): void {
    this.#entries.set(entry.tx.txid, entry)
    for (const { prevTxid, prevVout } of entry.tx.inputs) {
      this.#spenders.set(outpoint(prevTxid, prevVout), entry)
      this.coins.remove(prevTxid, prevVout)
    }
    for (const parent of entry.parents) parent.children.add(entry)
    addOutputs(this.coins, entry.tx, undefined)
  }

  #unlink(entry: MempoolEntry): void {
    entry.tx.outputs.forEach((_, vout) => this.coins.remove(entry.tx.txid, vout))
    for (const coin of entry.spends) {
      this.#spenders.delete(outpoint(coin.txid, coin.vout))
      if (coin.height === undefined) this.coins.add(coin)
    }
    for (const parent of entry.parents) parent.children.delete(entry)
    this.#entries.delete(entry.tx.txid)
  }
}

/** The version of restricted transactions (BIP 431), and their maximum sizes in vbytes. */
export const TRUC = 3
const [MAX_TRUC_VSIZE, MAX_TRUC_CHILD] = [10_000, 1_000]
/** The highest sequence number that signals replaceability (BIP 125). */
const REPLACEABLE = 0xfffffffd

/** Returns whether an input of a transaction signals replaceability. */
export function isReplaceable({ inputs }: SimTx): boolean {
  return inputs.some(({ sequence }) => sequence <= REPLACEABLE)
}

/** Returns the fee rate in base units per vbyte. */
export function rateOf(entry: MempoolEntry): number {
  return Number(entry.fee) / entry.vsize
}

/** Returns all entries that are reachable from an entry, in the order of their arrival: parents before their children. */
function closure(
  entry: MempoolEntry,
  next: (entry: MempoolEntry) => ReadonlySet<MempoolEntry>,
): ReadonlySet<MempoolEntry> {
  const reached = new Set<MempoolEntry>()
  const stack = [entry]
  for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
    if (reached.has(each)) continue
    reached.add(each)
    stack.push(...next(each))
  }
  return new Set([...reached].sort((a, b) => a.order - b.order))
}
