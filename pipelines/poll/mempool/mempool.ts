import { parseBlock } from '../../chain/block.js'
import { parseTx, type Tx } from '../../chain/transaction.js'
import { reasonLeft, type BlockEffect, type Left, type PoolTx } from './delta.js'

/** The pool as the log tells it, and what blocks did to it since. */
export class Pool {
  readonly #txs = new Map<string, PoolTx>()
  /** Which transaction of the pool spends an output. */
  readonly #spender = new Map<string, string>()
  readonly #effects = new Map<string, BlockEffect>()
  #entered = 0n
  #bytes = 0

  /** Of all its transactions, serialised. */
  get bytes(): number {
    return this.#bytes
  }

  get txs(): ReadonlyMap<string, PoolTx> {
    return this.#txs
  }

  /** How many have ever entered. */
  get entered(): bigint {
    return this.#entered
  }

  /** Sets the pool back to what a snapshot begins with. */
  reset(entered: bigint): void {
    this.#txs.clear()
    this.#spender.clear()
    this.#bytes = 0
    this.#entered = entered
  }

  enter(tx: PoolTx): void {
    this.put(tx)
    this.#entered++
  }

  /** As part of a snapshot, which counts it already. */
  put(tx: PoolTx): void {
    this.#bytes += tx.raw.length - (this.#txs.get(tx.txid)?.raw.length ?? 0)
    this.#txs.set(tx.txid, tx)
    for (const outpoint of tx.spends) this.#spender.set(outpoint, tx.txid)
  }

  leave(txid: string): void {
    const tx = this.#txs.get(txid)
    if (tx === undefined) return
    this.#txs.delete(txid)
    this.#bytes -= tx.raw.length
    this.#effects.delete(txid)
    for (const outpoint of tx.spends) if (this.#spender.get(outpoint) === txid) this.#spender.delete(outpoint)
  }

  /** Why each of these, which the node does not list any more, has left, given what enters together. */
  reasons(left: readonly string[], entering: readonly PoolTx[]): Left[] {
    const gone = new Set(left)
    const newSpender = new Map(entering.flatMap((tx) => tx.spends.map((outpoint) => [outpoint, tx.txid])))
    const spenderOf = (outpoint: string): string | undefined => {
      const old = this.#spender.get(outpoint)
      return newSpender.get(outpoint) ?? (old === undefined || gone.has(old) ? undefined : old)
    }
    return left.flatMap((txid) => {
      const tx = this.#txs.get(txid)
      return tx === undefined ? [] : [reasonLeft(tx, this.#effects.get(txid), spenderOf)]
    })
  }

  /** A block was put on the chain: remembers what of the pool it confirms or makes impossible. */
  blockConnected(hash: string, raw: Uint8Array): void {
    // Backfill passes here with every block of the chain.
    if (this.#txs.size === 0) return
    for (const tx of parseBlock(raw).txs) {
      for (const outpoint of spendsOf(tx)) {
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

/** @throws where the bytes are no transaction, or another one. */
export function poolTx(txid: string, raw: Buffer, fee: bigint, firstSeen: number): PoolTx {
  const tx = parseTx(raw)
  if (tx.txid !== txid) throw new Error(`the bytes given for pool transaction ${txid} hash to ${tx.txid}`)
  return { txid, raw, fee, firstSeen, spends: spendsOf(tx) }
}

function spendsOf(tx: Tx): string[] {
  return tx.isCoinbase ? [] : tx.inputs.map((input) => `${input.prevTxid}:${String(input.prevVout)}`)
}
