import { readBlock } from '../../chain/block.js'
import { outpointsOf } from '../../chain/prevout.js'
import type { MempoolTx } from '../../mempool/mempool-tx.js'
import { reasonLeft, type BlockEffect, type Left } from './delta.js'

/** The mempool as the log tells it, and what blocks did to it since. */
export class Mempool {
  readonly #txs = new Map<string, MempoolTx>()
  /** Which transaction of the mempool spends an output. */
  readonly #spender = new Map<string, string>()
  readonly #effects = new Map<string, BlockEffect>()
  #entered = 0n
  #bytes = 0

  /** Of all its transactions, serialised. */
  get bytes(): number {
    return this.#bytes
  }

  get txs(): ReadonlyMap<string, MempoolTx> {
    return this.#txs
  }

  /** How many have ever entered. */
  get entered(): bigint {
    return this.#entered
  }

  /** Sets the mempool back to what a snapshot begins with. */
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

  /** As part of a snapshot, which counts it already. */
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

  /** Why each of these, which the node does not list any more, has left, given what enters together. */
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

  /** A block was put on the chain: remembers what of the mempool it confirms or makes impossible. */
  blockConnected(hash: string, raw: Uint8Array): void {
    // Backfill passes here with every block of the chain.
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
