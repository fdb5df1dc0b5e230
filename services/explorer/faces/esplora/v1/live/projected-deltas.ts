import type { ProjectedBlock } from '../../../../../../pipelines/mempool/projection.js'
import type { MempoolTxs } from '../../../../core/mempool/mempool-txs.js'
import { strippedUnconfirmed } from '../stripped.js'

/** A transaction of a projected block: txid, fee, virtual size, value, rate, flags, first seen. */
type Compressed = [string, number, number, number, number, number, number]

/** The transactions of a projected block as clients know them. */
interface Known {
  readonly txs: ReadonlyMap<string, Compressed>
  readonly sequence: number
}

/** The transactions of projected blocks, for clients that follow one: all of them first, then the differences. */
export class ProjectedDeltas {
  readonly #known = new Map<number, Known>()
  #sequence = 0
  #block: readonly ProjectedBlock[] = []
  #mempool: MempoolTxs | undefined

  /** Takes the projected blocks of a moment. @returns the differences of the blocks that clients follow, by their index, as JSON. */
  update(
    projected: readonly ProjectedBlock[],
    mempool: MempoolTxs,
    followed: ReadonlySet<number>,
  ): ReadonlyMap<number, string> {
    this.#block = projected
    this.#mempool = mempool
    this.#sequence++
    const differences = new Map<number, string>()
    // Of a copy, because a map with a changed entry would be visited again and again.
    for (const [index, before] of [...this.#known]) {
      this.#known.delete(index)
      if (!followed.has(index)) continue
      const now = this.#txsOf(index)
      this.#known.set(index, { txs: now, sequence: this.#sequence })
      const delta = difference(before.txs, now)
      if (delta !== undefined)
        differences.set(index, JSON.stringify({ index, sequence: this.#sequence, delta }))
    }
    return differences
  }

  /** Returns all transactions of a projected block as JSON: that after which the next difference follows. */
  whole(index: number): string {
    const known = this.#known.get(index) ?? { txs: this.#txsOf(index), sequence: this.#sequence }
    this.#known.set(index, known)
    const { txs, sequence } = known
    return JSON.stringify({ index, sequence, blockTransactions: [...txs.values()] })
  }

  /** Forgets what clients know, when none is left. */
  clear(): void {
    this.#known.clear()
    this.#block = []
    this.#mempool = undefined
  }

  #txsOf(index: number): ReadonlyMap<string, Compressed> {
    const txs = new Map<string, Compressed>()
    const mempool = this.#mempool
    for (const { txid } of this.#block[index]?.txs ?? []) {
      const shown = mempool?.get(txid)
      if (mempool === undefined || shown === undefined) continue
      const [child] = mempool.graph.childrenOf(txid)
      const isChild = shown.outpoints.some((each) => mempool.get(each.slice(0, 64)) !== undefined)
      const tx = strippedUnconfirmed(shown, { isParent: child !== undefined, isChild })
      const rate = Math.round(tx.rate * 100) / 100
      txs.set(txid, [txid, tx.fee, tx.vsize, tx.value, rate, tx.flags, tx.time ?? 0])
    }
    return txs
  }
}

/** Returns what changed between two versions of a block; undefined if nothing did. */
function difference(before: ReadonlyMap<string, Compressed>, now: ReadonlyMap<string, Compressed>) {
  const added = [...now.values()].filter(([txid]) => !before.has(txid))
  const removed = [...before.keys()].filter((txid) => !now.has(txid))
  const changed = [...now.values()].flatMap(([txid, , , , rate, flags]) => {
    const old = before.get(txid)
    return old === undefined || (old[4] === rate && old[5] === flags) ? [] : [[txid, rate, flags, 0]]
  })
  return added.length + removed.length + changed.length === 0 ? undefined : { added, removed, changed }
}
