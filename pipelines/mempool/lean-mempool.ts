import { type LeanTx, spentId } from './lean-tx.js'
import { neighboursOf, repackaged, type TxGraph } from './packages.js'

/** Unconfirmed transactions with the packages in which a projection takes them, in as little memory as possible. */
export class LeanMempool implements TxGraph<LeanTx> {
  readonly #txs = new Map<string, LeanTx>()
  /** The transactions that spend outputs of a transaction, by the first bytes of its txid: others may begin with the same ones. */
  readonly #spenders = new Map<number, LeanTx | LeanTx[]>()

  get size(): number {
    return this.#txs.size
  }

  get(txid: string): LeanTx | undefined {
    return this.#txs.get(txid)
  }

  /** Returns the transactions with these txids that are here. */
  those(txids: readonly string[]): LeanTx[] {
    return txids.map((txid) => this.#txs.get(txid)).filter((tx) => tx !== undefined)
  }

  values(): Iterable<LeanTx> {
    return this.#txs.values()
  }

  *childrenOf(txid: string): Generator<LeanTx> {
    for (const tx of this.#spendersAt(keyOf(txid)))
      if (tx.outpoints.some((outpoint) => spentId(outpoint) === txid)) yield tx
  }

  /** Returns the transaction that spends an output; undefined if there is none. */
  spenderOf(outpoint: string): LeanTx | undefined {
    return this.#spendersAt(keyOf(outpoint)).find((tx) => tx.outpoints.includes(outpoint))
  }

  /** Returns transactions and all that depend on them. */
  withDescendants(txs: Iterable<LeanTx>): Set<LeanTx> {
    const found = new Set(txs)
    for (const tx of found) for (const child of this.childrenOf(tx.txid)) found.add(child)
    return found
  }

  /** Removes and adds transactions, in this order, and updates the packages of those that are connected to them. */
  change(removed: Iterable<string>, added: readonly LeanTx[]): void {
    const leaving = this.those([...removed])
    const connected = new Set(leaving.flatMap((tx) => [...neighboursOf(tx, this)]))
    for (const tx of leaving) this.#remove(tx)
    for (const tx of added) this.#add(tx)
    const changed = [...connected].filter((tx) => this.#txs.get(tx.txid) === tx)
    for (const { tx, packaged } of repackaged([...changed, ...added], this)) tx.packaged = packaged
  }

  #add(tx: LeanTx): void {
    const before = this.#txs.get(tx.txid)
    if (before !== undefined) this.#remove(before)
    tx.packaged = undefined
    this.#txs.set(tx.txid, tx)
    for (const key of keysOf(tx)) {
      const spenders = this.#spenders.get(key)
      if (spenders === undefined) this.#spenders.set(key, tx)
      else this.#spenders.set(key, [...(Array.isArray(spenders) ? spenders : [spenders]), tx])
    }
  }

  #remove(tx: LeanTx): void {
    this.#txs.delete(tx.txid)
    for (const key of keysOf(tx)) {
      const rest = this.#spendersAt(key).filter((each) => each !== tx)
      const [only] = rest
      if (only === undefined) this.#spenders.delete(key)
      else this.#spenders.set(key, rest.length === 1 ? only : rest)
    }
  }

  #spendersAt(key: number): readonly LeanTx[] {
    const spenders = this.#spenders.get(key)
    if (spenders === undefined) return []
    return Array.isArray(spenders) ? spenders : [spenders]
  }
}

/** Returns the first four bytes of a txid as an integer, which takes less memory than a string. */
const keyOf = (id: string): number =>
  id.charCodeAt(0) | (id.charCodeAt(1) << 8) | (id.charCodeAt(2) << 16) | (id.charCodeAt(3) << 24)

const keysOf = (tx: LeanTx): Set<number> => new Set(tx.outpoints.map(keyOf))
