import type { ShownTx } from './shown-tx.js'

/** What the blocks of a head that is ahead of the mempool do to it. */
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

/** What answers may ask of the mempool. */
export interface MempoolView {
  readonly size: number
  get(txid: string): ShownTx | undefined
  values(): Iterable<ShownTx>
  /** Newest first; those of the same second by txid. */
  newest(): readonly ShownTx[]
  /** Those that pay to or spend from a script, newest first. */
  ofScript(scriptHash: string): ShownTx[]
}

/** Overlays are few unless the mempool's events lag far behind the heads; then they are joined. */
const MOST_OVERLAYS = 32

const byAge = (one: ShownTx, other: ShownTx): number =>
  other.firstSeen - one.firstSeen || (one.txid < other.txid ? -1 : 1)

/**
 * The unconfirmed transactions as they stand beside the explorer's head: the poller's mempool as of one position of topic
 * `chain`, and upon it what the heads beyond that position confirm and give back. So a transaction is at each moment either
 * on the head's chain or here, and never in both.
 */
export class Mempool implements MempoolView {
  readonly #entries = new Map<string, ShownTx>()
  /** Of the entries those that blocks have confirmed or contradicted, which the poller has not told yet. */
  readonly #hidden = new Set<string>()
  readonly #byScript = new Map<string, Set<string>>()
  #overlays: Overlay[] = []
  #version = 0
  #visible: ReadonlyMap<string, ShownTx> | undefined
  #newest: readonly ShownTx[] | undefined

  /** Changes with whatever is visible. */
  get version(): number {
    return this.#version
  }

  get size(): number {
    return this.#shown().size
  }

  /** Nothing in it, shown or hidden. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#overlays.every((overlay) => overlay.returned.length === 0)
  }

  get(txid: string): ShownTx | undefined {
    return this.#shown().get(txid)
  }

  /** Also one that a head has confirmed since the mempool was told. */
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
    return [...txids]
      .map((txid) => shown.get(txid))
      .filter((tx) => tx !== undefined)
      .sort(byAge)
  }

  /** All that the poller told, shown or hidden. */
  entries(): Iterable<ShownTx> {
    return this.#entries.values()
  }

  /** The whole mempool as it was beside the chain up to `position`. */
  replace(entries: Iterable<ShownTx>, position: number): void {
    this.#entries.clear()
    this.#hidden.clear()
    this.#byScript.clear()
    for (const tx of entries) this.#add(tx)
    this.forgetOverlays(position)
    this.#changed()
  }

  /** What changed, as it was beside the chain up to `position`. */
  change(entered: Iterable<ShownTx>, left: Iterable<string>, position: number): void {
    this.#settle(position)
    for (const txid of left) this.#remove(txid)
    for (const tx of entered) this.#add(tx)
    this.#changed()
  }

  /** Puts transactions whose inputs have been found in the place of the same ones without. */
  update(resolved: Iterable<ShownTx>): void {
    for (const tx of resolved) {
      const hidden = this.#hidden.has(tx.txid)
      if (this.#entries.has(tx.txid)) this.#add(tx)
      if (hidden) this.#hidden.add(tx.txid)
    }
    this.#changed()
  }

  /** A head was adopted. */
  advance(overlay: Overlay): void {
    this.#overlays.push(overlay)
    // One that was made late belongs before those of later heads.
    this.#overlays.sort((one, other) => one.position - other.position)
    if (this.#overlays.length > MOST_OVERLAYS) this.#overlays = [joinOverlays(this.#overlays)]
    this.#changed()
  }

  /**
   * These left with a block that the head, which is ahead, has passed over: in its state they are unconfirmed again, unless
   * its blocks hold or contradict them. So it stays until an event of the mempool that knows the head.
   */
  giveBack(txs: readonly ShownTx[]): void {
    const last = this.#overlays.at(-1)
    if (last === undefined) return
    const confirmed = new Set(this.#overlays.flatMap((overlay) => [...overlay.confirmed]))
    const spent = new Set(this.#overlays.flatMap((overlay) => [...overlay.spent]))
    const chained = txs.map((tx) => ({ tx, isCoinbase: false }))
    const returned = returnable(chained, { confirmed, spent })
    this.advance({ position: last.position, confirmed: new Set(), spent: new Set(), returned })
  }

  /** Leaves out the overlays up to a position at which the mempool is empty. */
  forgetOverlays(position: number): void {
    this.#overlays = this.#overlays.filter((overlay) => overlay.position > position)
  }

  /**
   * The poller knows the blocks of these heads now; but what they confirmed it may tell as left a little later, when much has
   * entered, so that it stays hidden until then.
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

  /** A copy of what the poller told, less what is hidden. */
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

  #shown(): ReadonlyMap<string, ShownTx> {
    if (this.#overlays.length === 0 && this.#hidden.size === 0) return this.#entries
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

/** Applies in place. */
function applyOverlay(mempool: Map<string, ShownTx>, overlay: Overlay): Map<string, ShownTx> {
  for (const txid of overlay.confirmed) mempool.delete(txid)
  const gone = new Set<string>()
  if (overlay.spent.size > 0) {
    for (const tx of mempool.values())
      if (tx.outpoints.some((each) => overlay.spent.has(each))) gone.add(tx.txid)
  }
  removeWithDescendants(mempool, gone)
  for (const tx of overlay.returned) if (!mempool.has(tx.txid)) mempool.set(tx.txid, tx)
  return mempool
}

function removeWithDescendants(mempool: Map<string, ShownTx>, gone: Set<string>): void {
  for (let before = 0; before !== gone.size;) {
    before = gone.size
    for (const tx of mempool.values()) {
      if (gone.has(tx.txid)) continue
      if (tx.outpoints.some((outpoint) => gone.has(outpoint.slice(0, 64)))) gone.add(tx.txid)
    }
  }
  for (const txid of gone) mempool.delete(txid)
}

/** One overlay that does what these do one after the other. */
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
 * Which transactions of disconnected blocks may confirm again: not those that the new blocks hold or contradict, no coinbase,
 * and nothing that spends from one of these.
 * @param disconnected in the order of the chain, lowest block first.
 */
export function returnable(
  disconnected: readonly ChainedTx[],
  { confirmed, spent }: Pick<Overlay, 'confirmed' | 'spent'>,
): ShownTx[] {
  const gone = new Set<string>()
  const returned: ShownTx[] = []
  for (const { tx, isCoinbase } of disconnected) {
    if (confirmed.has(tx.txid)) continue
    const contradicted = tx.outpoints.some((each) => spent.has(each) || gone.has(each.slice(0, 64)))
    if (isCoinbase || contradicted) gone.add(tx.txid)
    else returned.push(tx)
  }
  return returned
}
