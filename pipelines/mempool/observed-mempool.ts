import { setImmediate } from 'node:timers/promises'
import { LeanMempool } from './lean-mempool.js'
import type { LeanTx } from './lean-tx.js'

/** The number of transactions that are removed or added at once: more would hold up other work. */
const SLICE = 250

/** A transaction that the poller has reported, that a block has removed, and whose removal the poller has not reported yet. */
interface Hidden {
  readonly tx: LeanTx
  readonly block: string
  /** False if the block only conflicts with it. */
  readonly isConfirmed: boolean
}

/**
 * The mempool that the poller has reported, after the blocks that it has written since. A transaction that a block confirms or
 * conflicts with leaves with the block, and those of a disconnected block return with it: until the poller's next report.
 */
export class ObservedMempool {
  readonly txs = new LeanMempool()
  readonly #hidden = new Map<string, Hidden>()
  /** The txids of transactions of disconnected blocks that the poller has not reported. */
  readonly #returned = new Set<string>()

  /** Replaces the transactions by those of a snapshot. */
  async replace(entries: readonly LeanTx[]): Promise<void> {
    this.#hidden.clear()
    this.#returned.clear()
    const all = new Set(entries.map(({ txid }) => txid))
    await this.#remove([...this.txs.values()].map(({ txid }) => txid).filter((txid) => !all.has(txid)))
    await this.#add(entries.filter((tx) => !isSame(tx, this.txs.get(tx.txid))))
  }

  /** Applies a change that the poller has reported. */
  async change(left: readonly string[], entered: readonly LeanTx[]): Promise<void> {
    const returned = [...this.#returned]
    this.#returned.clear()
    for (const txid of left) this.#hidden.delete(txid)
    for (const { txid } of entered) this.#hidden.delete(txid)
    await this.#remove([...left, ...returned])
    await this.#add(entered)
  }

  /** Applies a connected block. @param mined its transactions without the coinbase. */
  async connect(block: string, mined: readonly LeanTx[]): Promise<void> {
    const confirmed = mined.map(({ txid }) => this.txs.get(txid)).filter((tx) => tx !== undefined)
    await this.#hide(confirmed, block, true)
    const losers = mined.flatMap((tx) => tx.outpoints.map((outpoint) => this.txs.spenderOf(outpoint)))
    await this.#hide(this.txs.withDescendants(losers.filter((tx) => tx !== undefined)), block, false)
  }

  /** Applies the disconnection of a block. @param mined its transactions without the coinbase. */
  async disconnect(block: string, mined: readonly LeanTx[]): Promise<void> {
    const returning: LeanTx[] = []
    for (const tx of mined) {
      const hidden = this.#hidden.get(tx.txid)
      if (hidden?.block === block && hidden.isConfirmed) {
        this.#hidden.delete(tx.txid)
        returning.push(hidden.tx)
      } else if (this.txs.get(tx.txid) === undefined) {
        this.#returned.add(tx.txid)
        returning.push(tx)
      }
    }
    await this.#add(returning)
  }

  async #hide(txs: Iterable<LeanTx>, block: string, isConfirmed: boolean): Promise<void> {
    const all = [...txs]
    for (const tx of all)
      if (!this.#returned.delete(tx.txid)) this.#hidden.set(tx.txid, { tx, block, isConfirmed })
    await this.#remove(all.map(({ txid }) => txid))
  }

  async #remove(txids: readonly string[]): Promise<void> {
    for (let from = 0; from < txids.length; from += SLICE) {
      if (from > 0) await setImmediate()
      this.txs.change(txids.slice(from, from + SLICE), [])
    }
  }

  async #add(txs: readonly LeanTx[]): Promise<void> {
    for (let from = 0; from < txs.length; from += SLICE) {
      if (from > 0) await setImmediate()
      this.txs.change([], txs.slice(from, from + SLICE))
    }
  }
}

const isSame = (tx: LeanTx, other: LeanTx | undefined): boolean =>
  other?.fee === tx.fee && other.firstSeen === tx.firstSeen
