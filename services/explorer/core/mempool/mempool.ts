import { MempoolTxs } from './mempool-txs.js'
import type { ShownTx } from './shown-tx.js'

/** The changes of the mempool by the blocks of a head that is ahead of the mempool's events. */
export interface Overlay {
  /** Position of the head in topic `chain`. */
  readonly position: number
  /** Txids in the blocks that the head connected. */
  readonly confirmed: ReadonlySet<string>
  /** Outpoints that these blocks spend, `txid:vout`. */
  readonly spent: ReadonlySet<string>
  /** Transactions of disconnected blocks that may confirm again. */
  readonly returned: readonly ShownTx[]
}

/** More overlays than this exist only if the mempool's events lag far behind the heads; they are then joined. */
const MAX_OVERLAYS = 32

/**
 * The unconfirmed transactions as of the explorer's head: the poller's mempool as of one position of topic `chain`, with an overlay
 * for each head beyond that position, which removes the transactions that it confirms and returns those that it disconnects. So
 * a transaction is never both on the head's chain and in the mempool, and never missing from both.
 */
export class Mempool {
  /** All transactions that the poller has reported, visible or hidden. */
  #entries = MempoolTxs.NONE
  /** Entries that blocks have confirmed or that conflict with blocks, and whose removal the poller has not yet reported. */
  readonly #hidden = new Set<string>()
  #overlays: Overlay[] = []
  #version = 0
  #visible: MempoolTxs | undefined
  readonly #report: (touched: ReadonlySet<string>) => void

  /**
   * @param report called at each change with the txids of the transactions that appear, disappear or are replaced, of those whose
   *   outputs they spend, and the hashes of their scripts.
   */
  constructor(report: (touched: ReadonlySet<string>) => void = () => undefined) {
    this.#report = report
  }

  /** A number that increases whenever the visible transactions may have changed. */
  get version(): number {
    return this.#version
  }

  /** True if there are no transactions, visible or hidden. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#overlays.every((overlay) => overlay.returned.length === 0)
  }

  /** Returns the visible transactions, which do not change any more there. */
  snapshot(): MempoolTxs {
    this.#visible ??= this.#overlays.reduce(withOverlay, this.#base())
    return this.#visible
  }

  /** Returns a transaction, even if a head has confirmed it since the last event of the mempool. */
  getAny(txid: string): ShownTx | undefined {
    return this.#entries.get(txid) ?? this.snapshot().get(txid)
  }

  /** Returns all transactions that the poller has reported, visible or hidden. */
  entries(): Iterable<ShownTx> {
    return this.#entries.values()
  }

  /** Replaces the mempool by a snapshot that was observed at `position` of topic `chain`. */
  replace(entries: Iterable<ShownTx>, position: number): void {
    this.#reporting(() => {
      const all = new Map([...entries].map((tx) => [tx.txid, tx]))
      const removals = [...this.#entries.values()].filter(({ txid }) => !all.has(txid))
      // Most snapshots are what is known already.
      const other = [...all.values()].filter((tx) => this.#entries.get(tx.txid) !== tx)
      this.#entries = this.isEmpty
        ? MempoolTxs.of(all.values())
        : this.#entries.changed(
            removals.map(({ txid }) => txid),
            other,
          )
      this.#hidden.clear()
      this.forgetOverlays(position)
    })
  }

  /** Applies changes that were observed at `position` of topic `chain`. */
  change(entered: readonly ShownTx[], left: readonly string[], position: number): void {
    this.#reporting(() => {
      this.#settle(position)
      this.#entries = this.#entries.changed(left, entered)
      for (const txid of left) this.#hidden.delete(txid)
      for (const { txid } of entered) this.#hidden.delete(txid)
    })
  }

  /** Replaces transactions by versions with more of the outputs that they spend. */
  update(resolved: readonly ShownTx[]): void {
    this.#reporting(() => {
      const current = resolved.filter(({ txid }) => this.#entries.get(txid) !== undefined)
      this.#entries = this.#entries.changed([], current)
    })
  }

  /** Adds the overlays of adopted heads. */
  advance(...overlays: readonly Overlay[]): void {
    this.#reporting(() => {
      this.#overlays.push(...overlays)
      // An overlay that is made later than the overlays of later heads belongs before them.
      this.#overlays.sort((one, other) => one.position - other.position)
      if (this.#overlays.length > MAX_OVERLAYS) this.#overlays = [joinOverlays(this.#overlays)]
    })
  }

  /**
   * Restores transactions that left the mempool with a block that is not on the head's chain: as of the head they are unconfirmed
   * again, unless its blocks contain them or conflict with them. Holds until an event of the mempool that was observed at the head.
   */
  restore(txs: readonly ShownTx[]): void {
    const last = this.#overlays.at(-1)
    if (last === undefined) return
    const confirmed = new Set(this.#overlays.flatMap((overlay) => [...overlay.confirmed]))
    const spent = new Set(this.#overlays.flatMap((overlay) => [...overlay.spent]))
    const chained = txs.map((tx) => ({ tx, isCoinbase: false }))
    const returned = returnable(chained, { confirmed, spent })
    this.advance({ position: last.position, confirmed: new Set(), spent: new Set(), returned })
  }

  /** Drops the overlays up to a position. */
  forgetOverlays(position: number): void {
    this.#overlays = this.#overlays.filter((overlay) => overlay.position > position)
    this.#visible = undefined
  }

  /**
   * Drops the overlays up to the position of an event. The poller may report the removal of what their blocks confirmed in a later
   * event, if many transactions have entered; until then it stays hidden.
   */
  #settle(position: number): void {
    const overlays = this.#overlays.filter((overlay) => overlay.position <= position)
    if (overlays.length === 0) return
    const after = overlays.reduce(withOverlay, this.#base())
    this.#hidden.clear()
    for (const { txid } of this.#entries.notIn(after))
      if (after.get(txid) === undefined) this.#hidden.add(txid)
    this.forgetOverlays(position)
  }

  /** Returns the reported transactions without the hidden ones. */
  #base(): MempoolTxs {
    return this.#entries.changed(this.#hidden, [])
  }

  /** Changes transactions, and reports which appear, disappear or are replaced. */
  #reporting(change: () => void): void {
    const before = this.snapshot()
    change()
    this.#version++
    this.#visible = undefined
    this.#report(differences(before, this.snapshot()))
  }
}

/**
 * Returns the txids of the transactions that differ between two versions of the mempool, the txids of the transactions whose outputs
 * they spend, and the hashes of their scripts.
 */
function differences(one: MempoolTxs, other: MempoolTxs): Set<string> {
  const touched = new Set<string>()
  for (const { txid, changes, outpoints } of [...one.notIn(other), ...other.notIn(one)]) {
    touched.add(txid)
    for (const outpoint of outpoints) touched.add(outpoint.slice(0, 64))
    for (const hash of changes.keys()) touched.add(hash)
  }
  return touched
}

/** Returns the transactions after an overlay. */
function withOverlay(txs: MempoolTxs, overlay: Overlay): MempoolTxs {
  const rest = txs.changed(overlay.confirmed, [])
  const removed = new Set<string>()
  if (overlay.spent.size > 0) {
    for (const tx of rest.values())
      if (tx.outpoints.some((each) => overlay.spent.has(each))) removed.add(tx.txid)
  }
  addDescendants(removed, rest)
  const returned = overlay.returned.filter(({ txid }) => removed.has(txid) || rest.get(txid) === undefined)
  return rest.changed(removed, returned)
}

/** Adds the txids of all transactions that spend from some. */
function addDescendants(txids: Set<string>, txs: MempoolTxs): void {
  for (let before = 0; before !== txids.size;) {
    before = txids.size
    for (const tx of txs.values()) {
      if (txids.has(tx.txid)) continue
      if (tx.outpoints.some((outpoint) => txids.has(outpoint.slice(0, 64)))) txids.add(tx.txid)
    }
  }
}

/** Returns one overlay with the effect of several, applied in order. */
function joinOverlays(overlays: readonly Overlay[]): Overlay {
  const confirmed = new Set<string>()
  const spent = new Set<string>()
  let returned = MempoolTxs.NONE
  for (const overlay of overlays) {
    returned = withOverlay(returned, overlay)
    for (const tx of overlay.returned) {
      confirmed.delete(tx.txid)
      for (const outpoint of tx.outpoints) spent.delete(outpoint)
    }
    for (const txid of overlay.confirmed) confirmed.add(txid)
    for (const outpoint of overlay.spent) spent.add(outpoint)
  }
  return { position: overlays.at(-1)?.position ?? -1, confirmed, spent, returned: [...returned.values()] }
}

export interface ChainedTx {
  readonly tx: ShownTx
  readonly isCoinbase: boolean
}

/**
 * Returns the transactions of disconnected blocks that may confirm again: without those that the new blocks contain or conflict
 * with, without coinbases, and without their descendants.
 * @param disconnected in the order of the chain, lowest block first.
 */
export function returnable(
  disconnected: readonly ChainedTx[],
  { confirmed, spent }: Pick<Overlay, 'confirmed' | 'spent'>,
): ShownTx[] {
  const removed = new Set<string>()
  const returned: ShownTx[] = []
  for (const { tx, isCoinbase } of disconnected) {
    if (confirmed.has(tx.txid)) continue
    const isConflicting = tx.outpoints.some((each) => spent.has(each) || removed.has(each.slice(0, 64)))
    if (isCoinbase || isConflicting) removed.add(tx.txid)
    else returned.push(tx)
  }
  return returned
}
