import { sumOf } from '../../chain/amount.js'
import { readBlock } from '../../chain/block.js'
import type { Network } from '../../chain/networks.js'
import { outpointsOf, type Prevout } from '../../chain/prevout.js'
import { parseTx, signalsReplacement, vsizeOf, weightOf } from '../../chain/transaction.js'
import type { MempoolTx } from '../../mempool/mempool-tx.js'
import { type BlockEffect, type Cause, causesOf, ownCause, type Passed } from './delta.js'

/** The age from which on a node drops a transaction, in hours: the default of `mempoolexpiry`. */
export const MEMPOOL_EXPIRY_HOURS = 336
/** More blocks than this at once are caught up with: what they contain is no news. */
const MAX_LIVE_BLOCKS = 10

/** A block of the chain, with the outputs that its inputs spend, without the coinbase, in its order. */
export interface ConnectedBlock {
  readonly hash: string
  readonly height: number
  readonly raw: Uint8Array
  readonly prevouts: readonly Pick<Prevout, 'value'>[]
}

/** The mempool of the log, and the effects of later blocks on it. */
export class Mempool {
  readonly #txs = new Map<string, MempoolTx>()
  /** The transactions that spend outputs, by txid:vout. */
  readonly #spender = new Map<string, string>()
  readonly #effects = new Map<string, BlockEffect>()
  readonly #passed = new Map<string, Passed>()
  readonly #network: Network
  readonly #expirySeconds: number
  #entered = 0n
  #left = 0n
  #bytes = 0
  /** The time at which the node received the newest transaction, by its clock, in Unix seconds. */
  #newest = 0
  /** The number of next blocks of which new transactions have passed through. */
  #liveBlocks = 0

  constructor(network: Network, expiryHours = MEMPOOL_EXPIRY_HOURS) {
    this.#network = network
    this.#expirySeconds = expiryHours * 3600
  }

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

  /** The number of transactions that have ever left. */
  get left(): bigint {
    return this.#left
  }

  /** Resets the mempool to the start of a snapshot. */
  reset(entered: bigint, left: bigint): void {
    this.#txs.clear()
    this.#spender.clear()
    this.#bytes = 0
    this.#entered = entered
    this.#left = left
  }

  enter(tx: MempoolTx): void {
    this.put(tx)
    this.#entered++
  }

  /** Adds a transaction of a snapshot, whose count of entered transactions includes it. */
  put(tx: MempoolTx): void {
    this.#bytes += tx.raw.length - (this.#txs.get(tx.txid)?.raw.length ?? 0)
    this.#txs.set(tx.txid, tx)
    this.#newest = Math.max(this.#newest, tx.firstSeen)
    for (const outpoint of tx.outpoints) this.#spender.set(outpoint, tx.txid)
  }

  /** Counts transactions that have passed through. */
  pass(count: number): void {
    this.#entered += BigInt(count)
    this.#left += BigInt(count)
  }

  leave(txid: string): void {
    this.#left++
    const tx = this.#txs.get(txid)
    if (tx === undefined) return
    this.#txs.delete(txid)
    this.#bytes -= tx.raw.length
    this.#effects.delete(txid)
    for (const outpoint of tx.outpoints)
      if (this.#spender.get(outpoint) === txid) this.#spender.delete(outpoint)
  }

  /**
   * Returns transactions that the node no longer lists, with the causes that can be seen.
   * @param entering the transactions that the node lists since they left.
   */
  causes(
    left: readonly string[],
    entering: readonly MempoolTx[],
  ): { readonly tx: MempoolTx; readonly cause: Cause | undefined }[] {
    const gone = new Set(left)
    const newSpender = new Map(entering.flatMap((tx) => tx.outpoints.map((outpoint) => [outpoint, tx.txid])))
    const spenderOf = (outpoint: string): string | undefined => {
      const old = this.#spender.get(outpoint)
      return newSpender.get(outpoint) ?? (old === undefined || gone.has(old) ? undefined : old)
    }
    // A node drops old transactions when a new one enters, which tells the time by the node's clock.
    const now = Math.max(this.#newest, ...entering.slice(-1).map(({ firstSeen }) => firstSeen))
    const expiredBefore = now - this.#expirySeconds
    const txs = left.map((txid) => this.#txs.get(txid)).filter((tx) => tx !== undefined)
    const causes = causesOf(txs, (tx) => ownCause(tx, this.#effects.get(tx.txid), spenderOf, expiredBefore))
    return txs.map((tx, index) => ({ tx, cause: causes[index] }))
  }

  /** Returns whether a transaction, or an ancestor in the mempool, signals that it may be replaced (BIP 125). */
  signals(tx: MempoolTx): boolean {
    const reached = new Set([tx])
    for (const { raw, outpoints } of reached) {
      if (signalsReplacement(parseTx(raw))) return true
      for (const outpoint of outpoints) {
        const parent = this.#txs.get(outpoint.slice(0, 64))
        if (parent !== undefined) reached.add(parent)
      }
    }
    return false
  }

  /** Notes that mempool and chain equal the node's: new transactions in the next blocks have only passed through the mempool. */
  level(): void {
    // The block after these ends it.
    this.#liveBlocks = MAX_LIVE_BLOCKS + 1
  }

  /** Returns the transactions that passed through since the last call. */
  takePassed(): Passed[] {
    const passed = [...this.#passed.values()]
    this.#passed.clear()
    return passed
  }

  /** Notes which transactions of the mempool a connected block confirms or makes invalid, and which have passed through. */
  blockConnected({ hash, height, raw, prevouts }: ConnectedBlock): void {
    const isLive = this.#liveBlocks > 0
    if (isLive && --this.#liveBlocks === 0) this.#passed.clear()
    // Saves parsing every block of a backfill.
    if (this.#txs.size === 0 && !isLive) return
    let spent = 0
    for (const tx of readBlock(raw).txs) {
      const outpoints = outpointsOf(tx)
      const coins = prevouts.slice(spent, (spent += outpoints.length))
      for (const outpoint of outpoints) {
        const loser = this.#spender.get(outpoint)
        if (loser !== undefined)
          this.#effects.set(loser, { kind: 'conflict', block: hash, height, txid: tx.txid })
      }
      if (this.#txs.has(tx.txid))
        this.#effects.set(tx.txid, { kind: 'confirmed', block: hash, height, txid: tx.txid })
      else if (this.#liveBlocks > 0 && !tx.isCoinbase) {
        const vsize = vsizeOf(weightOf(tx, this.#network), this.#network)
        const fee = sumOf(coins) - sumOf(tx.outputs)
        this.#passed.set(tx.txid, { txid: tx.txid, fee, vsize, block: hash, height })
      }
    }
  }

  /** Notes that the tip was disconnected. What the new branch confirms may have been in the old one. */
  blockDisconnected(hash: string): void {
    this.#liveBlocks = 0
    for (const [txid, { block }] of this.#effects) if (block === hash) this.#effects.delete(txid)
    for (const [txid, { block }] of this.#passed) if (block === hash) this.#passed.delete(txid)
  }
}
