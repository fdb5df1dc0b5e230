import type { ShownTx } from './shown-tx.js'

/** The changes of the mempool by the blocks of a head that is ahead of the mempool's events. */
export interface Overlay {
  /** Position of the head in topic `chain`. */
  readonly position: number
  /** Txids in the blocks that the head connected. */
  readonly confirmed: ReadonlySet<string>
  /** Outpoints that these blocks spend, `txid:vout`. */
  readonly spent: ReadonlySet<string>
  /** Transactions of disconnected blocks that may confirm again, in the order of the chain. */
  readonly returned: readonly ShownTx[]
}

/** The mempool as answers see it. */
export interface MempoolView {
  readonly size: number
  get(txid: string): ShownTx | undefined
  values(): Iterable<ShownTx>
  /** Returns the transactions, newest first; those of the same second by txid. */
  newest(): readonly ShownTx[]
  /** Returns the transactions that pay to or spend from a script, newest first. */
  ofScript(scriptHash: string): ShownTx[]
}

/** More overlays than this exist only if the mempool's events lag far behind the heads; they are then joined. */
const MAX_OVERLAYS = 32

const byAge = (one: ShownTx, other: ShownTx): number =>
  other.firstSeen - one.firstSeen || (one.txid < other.txid ? -1 : 1)

/**
 * The unconfirmed transactions as of the explorer's head: the poller's mempool as of one position of topic `chain`, with an overlay
 * for each head beyond that position, which removes the transactions that it confirms and returns those that it disconnects. So
 * a transaction is never both on the head's chain and in the mempool, and never missing from both.
 */
export class Mempool implements MempoolView {
  readonly #entries = new Map<string, ShownTx>()
  /** Entries that blocks have confirmed or that conflict with blocks, and whose removal the poller has not yet reported. */
  readonly #hidden = new Set<string>()
  readonly #byScript = new Map<string, Set<string>>()
  #overlays: Overlay[] = []
  #version = 0
  #visible: ReadonlyMap<string, ShownTx> | undefined
  #newest: readonly ShownTx[] | undefined
  readonly #report: (touched: ReadonlySet<string>) => void

  /**
   * @param report called at each change with the txids of the transactions that appear, disappear or are replaced, and the hashes
   *   of their scripts.
   */
  constructor(report: (touched: ReadonlySet<string>) => void = () => undefined) {
    this.#report = report
  }

  /** A number that increases whenever the visible transactions may have changed. */
  get version(): number {
    return this.#version
  }

  get size(): number {
    return this.#shown().size
  }

  /** True if there are no transactions, visible or hidden. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#overlays.every((overlay) => overlay.returned.length === 0)
  }

  get(txid: string): ShownTx | undefined {
    return this.#shown().get(txid)
  }

  /** Returns a transaction, even if a head has confirmed it since the last event of the mempool. */
  known(txid: string): ShownTx | undefined {
    return this.#entries.get(txid) ?? this.get(txid)
  }

  values(): Iterable<ShownTx> {
    return this.#shown().values()
  }

  newest(): readonly ShownTx[] {
    this.#newest ??= [...this.values()].sort(byAge)
    return this.#newest
  }

  ofScript(scriptHash: string): ShownTx[] {
    const shown = this.#shown()
    const txids = new Set(this.#byScript.get(scriptHash))
    for (const overlay of this.#overlays)
      for (const tx of overlay.returned) if (tx.changes.has(scriptHash)) txids.add(tx.txid)
    return (
      [...txids]
        .map((txid) => shown.get(txid))
        .filter((tx) => tx !== undefined)
        // A transaction of a disconnected block may know more of the outputs that it spends than the entry that is shown.
        .filter((tx) => tx.changes.has(scriptHash))
        .sort(byAge)
    )
  }

  /** Returns all transactions that the poller has reported, visible or hidden. */
  entries(): Iterable<ShownTx> {
    return this.#entries.values()
  }

  /** Replaces the mempool by a snapshot that was observed at `position` of topic `chain`. */
  replace(entries: Iterable<ShownTx>, position: number): void {
    const before = new Map(this.#shown())
    this.#entries.clear()
    this.#hidden.clear()
    this.#byScript.clear()
    for (const tx of entries) this.#add(tx)
    this.forgetOverlays(position)
    this.#changed()
    this.#report(differences(before, this.#shown()))
  }

  /** Applies changes that were observed at `position` of topic `chain`. */
  change(entered: readonly ShownTx[], left: readonly string[], position: number): void {
    this.#reporting([...left, ...entered.map(({ txid }) => txid)], () => {
      this.#settle(position)
      for (const txid of left) this.#remove(txid)
      for (const tx of entered) this.#add(tx)
      this.#changed()
    })
  }

  /** Replaces transactions by versions with more of the outputs that they spend. */
  update(resolved: readonly ShownTx[]): void {
    const txids = resolved.map(({ txid }) => txid)
    this.#reporting(txids, () => {
      for (const tx of resolved) {
        const hidden = this.#hidden.has(tx.txid)
        if (this.#entries.has(tx.txid)) this.#add(tx)
        if (hidden) this.#hidden.add(tx.txid)
      }
      this.#changed()
    })
  }

  /** Adds the overlays of adopted heads. */
  advance(...overlays: readonly Overlay[]): void {
    const before = this.#shown()
    this.#overlays.push(...overlays)
    // An overlay that is made later than those of later heads belongs before them.
    this.#overlays.sort((one, other) => one.position - other.position)
    if (this.#overlays.length > MAX_OVERLAYS) this.#overlays = [joinOverlays(this.#overlays)]
    this.#changed()
    this.#report(differences(before, this.#shown()))
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
  }

  /**
   * Drops the overlays up to the position of an event. The poller may report the removal of what their blocks confirmed in a later
   * event, if many transactions have entered; until then it stays hidden.
   */
  #settle(position: number): void {
    const known = this.#overlays.filter((overlay) => overlay.position <= position)
    if (known.length === 0) return
    const after = known.reduce(applyOverlay, this.#base())
    for (const txid of this.#entries.keys()) {
      if (after.has(txid)) this.#hidden.delete(txid)
      else this.#hidden.add(txid)
    }
    this.forgetOverlays(position)
  }

  /** Returns a copy of the reported transactions without the hidden ones. */
  #base(): Map<string, ShownTx> {
    const base = new Map(this.#entries)
    for (const txid of this.#hidden) base.delete(txid)
    return base
  }

  #changed(): void {
    this.#version++
    this.#visible = undefined
    this.#newest = undefined
  }

  /**
   * Changes transactions, and reports which appear, disappear or are replaced: those that the change names; while overlays or
   * hidden entries exist, which have effects beyond these, what a comparison of all shows.
   */
  #reporting(txids: readonly string[], change: () => void): void {
    const isPlain = this.#isPlain
    const before = isPlain ? this.#those(txids) : this.#shown()
    change()
    this.#report(differences(before, isPlain ? this.#those(txids) : this.#shown()))
  }

  #those(txids: readonly string[]): Map<string, ShownTx> {
    const those = new Map<string, ShownTx>()
    for (const txid of txids) {
      const tx = this.#entries.get(txid)
      if (tx !== undefined) those.set(txid, tx)
    }
    return those
  }

  /** True if all reported transactions are visible, and no others. */
  get #isPlain(): boolean {
    return this.#overlays.length === 0 && this.#hidden.size === 0
  }

  #shown(): ReadonlyMap<string, ShownTx> {
    if (this.#isPlain) return this.#entries
    this.#visible ??= this.#overlays.reduce(applyOverlay, this.#base())
    return this.#visible
  }

  #add(tx: ShownTx): void {
    this.#remove(tx.txid)
    this.#entries.set(tx.txid, tx)
    for (const hash of tx.changes.keys()) {
      const txids = this.#byScript.get(hash)
      if (txids === undefined) this.#byScript.set(hash, new Set([tx.txid]))
      else txids.add(tx.txid)
    }
  }

  #remove(txid: string): void {
    const tx = this.#entries.get(txid)
    if (tx === undefined) return
    this.#entries.delete(txid)
    this.#hidden.delete(txid)
    for (const hash of tx.changes.keys()) {
      const txids = this.#byScript.get(hash)
      txids?.delete(txid)
      if (txids?.size === 0) this.#byScript.delete(hash)
    }
  }
}

/** Returns the txids of the transactions that are not the same in both, and the hashes of their scripts. */
function differences(one: ReadonlyMap<string, ShownTx>, other: ReadonlyMap<string, ShownTx>): Set<string> {
  const touched = new Set<string>()
  const compare = (those: ReadonlyMap<string, ShownTx>, against: ReadonlyMap<string, ShownTx>): void => {
    for (const [txid, tx] of those) {
      if (against.get(txid) === tx) continue
      touched.add(txid)
      for (const hash of tx.changes.keys()) touched.add(hash)
    }
  }
  compare(one, other)
  compare(other, one)
  return touched
}

/** Applies an overlay in place. */
function applyOverlay(mempool: Map<string, ShownTx>, overlay: Overlay): Map<string, ShownTx> {
  for (const txid of overlay.confirmed) mempool.delete(txid)
  const removed = new Set<string>()
  if (overlay.spent.size > 0) {
    for (const tx of mempool.values())
      if (tx.outpoints.some((each) => overlay.spent.has(each))) removed.add(tx.txid)
  }
  removeWithDescendants(mempool, removed)
  for (const tx of overlay.returned) if (!mempool.has(tx.txid)) mempool.set(tx.txid, tx)
  return mempool
}

function removeWithDescendants(mempool: Map<string, ShownTx>, removed: Set<string>): void {
  for (let before = 0; before !== removed.size;) {
    before = removed.size
    for (const tx of mempool.values()) {
      if (removed.has(tx.txid)) continue
      if (tx.outpoints.some((outpoint) => removed.has(outpoint.slice(0, 64)))) removed.add(tx.txid)
    }
  }
  for (const txid of removed) mempool.delete(txid)
}

/** Returns one overlay with the effect of several, applied in order. */
function joinOverlays(overlays: readonly Overlay[]): Overlay {
  const confirmed = new Set<string>()
  const spent = new Set<string>()
  let returned = new Map<string, ShownTx>()
  for (const overlay of overlays) {
    returned = applyOverlay(returned, overlay)
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
