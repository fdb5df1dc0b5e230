import { readBlock } from '../../chain/block.js'
import { outpointsOf } from '../../chain/prevout.js'
import type { MempoolTx } from '../../mempool/mempool-tx.js'
import { reasonLeft, type BlockEffect, type Left } from './delta.js'

/** The mempool of the log, and the effects of later blocks on it. */
export class Mempool {
  readonly #txs = new Map<string, MempoolTx>()
  /** The transactions that spend outputs, by txid:vout. */
  readonly #spender = new Map<string, string>()
  readonly #effects = new Map<string, BlockEffect>()
  #entered = 0n
  #bytes = 0

  /** The total size of its transactions, serialised. */
  get bytes(): number {
    return this.#bytes
  }

  get txs(): ReadonlyMap<string, MempoolTx> {
    return this.#txs
  }

  /** The number of transactions that have ever entered. */
  get entered(): bigint {
    return this.#entered
  }

  /** Resets the mempool to the start of a snapshot. */
  reset(entered: bigint): void {
    this.#txs.clear()
    this.#spender.clear()
    this.#bytes = 0
    this.#entered = entered
  }

  enter(tx: MempoolTx): void {
    this.put(tx)
    this.#entered++
  }

  /** Adds a transaction of a snapshot, whose count of entered transactions includes it. */
  put(tx: MempoolTx): void {
    this.#bytes += tx.raw.length - (this.#txs.get(tx.txid)?.raw.length ?? 0)
    this.#txs.set(tx.txid, tx)
    for (const outpoint of tx.outpoints) this.#spender.set(outpoint, tx.txid)
  }

  leave(txid: string): void {
    const tx = this.#txs.get(txid)
    if (tx === undefined) return
    this.#txs.delete(txid)
    this.#bytes -= tx.raw.length
    this.#effects.delete(txid)
    for (const outpoint of tx.outpoints)
      if (this.#spender.get(outpoint) === txid) this.#spender.delete(outpoint)
  }

  /**
   * Returns why transactions that the node no longer lists have left.
   * @param entering the transactions that enter at the same time.
   */
  reasons(left: readonly string[], entering: readonly MempoolTx[]): Left[] {
    const gone = new Set(left)
    const newSpender = new Map(entering.flatMap((tx) => tx.outpoints.map((outpoint) => [outpoint, tx.txid])))
    const spenderOf = (outpoint: string): string | undefined => {
      const old = this.#spender.get(outpoint)
      return newSpender.get(outpoint) ?? (old === undefined || gone.has(old) ? undefined : old)
    }
    return left.flatMap((txid) => {
      const tx = this.#txs.get(txid)
      return tx === undefined ? [] : [reasonLeft(tx, this.#effects.get(txid), spenderOf)]
    })
  }

  /** Notes which transactions of the mempool a connected block confirms or makes invalid. */
  blockConnected(hash: string, raw: Uint8Array): void {
    // Saves parsing every block of a backfill.
    if (this.#txs.size === 0) return
    for (const tx of readBlock(raw).txs) {
      for (const outpoint of outpointsOf(tx)) {
        const loser = this.#spender.get(outpoint)
        if (loser !== undefined) this.#effects.set(loser, { kind: 'conflict', block: hash, txid: tx.txid })
      }
      if (this.#txs.has(tx.txid))
        this.#effects.set(tx.txid, { kind: 'confirmed', block: hash, txid: tx.txid })
    }
  }

  blockDisconnected(hash: string): void {
    for (const [txid, { block }] of this.#effects) if (block === hash) this.#effects.delete(txid)
  }
}
