import { addHistograms, type FeeBucket, feeHistogram } from '../../../../pipelines/chain/feerate.js'
import {
  effectiveOf,
  neighboursOf,
  repackaged,
  type TxGraph,
} from '../../../../pipelines/mempool/packages.js'
import type { ShownTx } from './shown-tx.js'
import { SortedList } from './sorted-list.js'

/** The sums of transactions. */
export interface MempoolTotals {
  readonly vsize: number
  /** Base units. */
  readonly fees: bigint
  readonly histogram: readonly FeeBucket[]
}

/** An output that a transaction spends. */
interface Spend {
  readonly outpoint: string
  readonly txid: string
}

interface OfScript {
  readonly hash: string
  /** Newest first. */
  readonly txs: readonly ShownTx[]
}

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
const byTxid = (one: ShownTx, other: ShownTx): number => compareText(one.txid, other.txid)
const byAge = (one: ShownTx, other: ShownTx): number => other.firstSeen - one.firstSeen || byTxid(one, other)
const rateOf = (tx: ShownTx): number => {
  const { fee, vsize } = effectiveOf(tx)
  return Number(fee) / vsize
}
const byRate = (one: ShownTx, other: ShownTx): number => rateOf(other) - rateOf(one) || byTxid(one, other)
const vsizeOf = (txs: readonly ShownTx[]): number => txs.reduce((sum, { vsize }) => sum + vsize, 0)
const bySpend = (one: Spend, other: Spend): number =>
  compareText(one.outpoint, other.outpoint) || compareText(one.txid, other.txid)
const byHash = (one: OfScript, other: OfScript): number => compareText(one.hash, other.hash)

const totalsOf = (txs: readonly ShownTx[]): MempoolTotals => ({
  vsize: vsizeOf(txs),
  fees: txs.reduce((sum, { fee }) => sum + fee, 0n),
  histogram: feeHistogram(txs, effectiveOf),
})

/** Returns the largest value that any of the transactions moves. */
const largestOf = (txs: readonly ShownTx[]): bigint =>
  txs.reduce((most, { moved = 0n }) => (moved > most ? moved : most), 0n)

/** A set of unconfirmed transactions. Immutable: versions share what they have in common, so keeping one for an answer is free. */
export class MempoolTxs {
  static readonly NONE = new MempoolTxs(
    SortedList.empty(byTxid),
    SortedList.empty(byAge),
    SortedList.empty(byRate),
    SortedList.empty(byHash),
    SortedList.empty(bySpend),
  )
  private constructor(
    private readonly txs: SortedList<ShownTx>,
    private readonly aged: SortedList<ShownTx>,
    private readonly rated: SortedList<ShownTx>,
    private readonly scripts: SortedList<OfScript>,
    private readonly spends: SortedList<Spend>,
  ) {}

  static of(txs: Iterable<ShownTx>): MempoolTxs {
    const txById = new Map([...txs].map((tx) => [tx.txid, tx]))
    const { children, spends } = linksOf(txById)
    const graph = {
      get: (txid: string) => txById.get(txid),
      childrenOf: (txid: string) => children.get(txid) ?? [],
    }
    for (const { tx, packaged } of repackaged(txById.values(), graph))
      txById.set(tx.txid, { ...tx, packaged })
    // Strings are sorted several times as fast without a function that compares them.
    const sorted = [...txById.keys()].sort().map((txid) => txById.get(txid) as ShownTx)
    // Sorting is stable: transactions of one second stay in the order of their txids.
    const aged = [...sorted].sort((one, other) => other.firstSeen - one.firstSeen)
    const rated = [...sorted].sort((one, other) => rateOf(other) - rateOf(one))
    const scripts = new Map<string, ShownTx[]>()
    for (const tx of aged) {
      for (const hash of tx.changes.keys()) {
        const own = scripts.get(hash)
        if (own === undefined) scripts.set(hash, [tx])
        else own.push(tx)
      }
    }
    const ofScripts = [...scripts.keys()]
      .sort()
      .map((hash): OfScript => ({ hash, txs: scripts.get(hash) ?? [] }))
    return new MempoolTxs(
      SortedList.of(sorted, byTxid),
      SortedList.of(aged, byAge),
      SortedList.of(rated, byRate),
      SortedList.of(ofScripts, byHash),
      spends,
    )
  }

  get size(): number {
    return this.txs.size
  }

  get(txid: string): ShownTx | undefined {
    return this.txs.find((tx) => compareText(tx.txid, txid))
  }

  /** The transactions, and which of them spend from which. */
  get graph(): TxGraph<ShownTx> {
    const get = (txid: string): ShownTx | undefined => this.get(txid)
    return { get, childrenOf: (txid) => childrenOf(txid, this.spends, get) }
  }

  values(): Iterable<ShownTx> {
    return this.txs
  }

  /** Returns the transactions by their effective fee rates, highest first. */
  byRate(): Iterable<ShownTx> {
    return this.rated
  }

  // By age, most changes are in the first part of the list, so that the sums of the other parts are cached.
  totals(): MempoolTotals {
    let sum = totalsOf([])
    for (const { summary } of this.aged.parts(totalsOf))
      sum = {
        vsize: sum.vsize + summary.vsize,
        fees: sum.fees + summary.fees,
        histogram: addHistograms(sum.histogram, summary.histogram),
      }
    return sum
  }

  /** Returns the newest transactions, at most `count`; transactions of one second are sorted by txid. */
  newest(count: number): readonly ShownTx[] {
    return this.aged.first(count)
  }

  /** Returns the newest transactions that move more than a value in base units, at most `count`. */
  moving(moreThan: bigint, count: number): readonly ShownTx[] {
    const txs: ShownTx[] = []
    for (const { items, summary } of this.aged.parts(largestOf)) {
      if (txs.length >= count) break
      if (summary > moreThan) txs.push(...items.filter(({ moved = 0n }) => moved > moreThan))
    }
    return txs.slice(0, count)
  }

  /** Returns the transactions with a higher effective fee rate than one: how many, and their virtual size. */
  ahead(tx: ShownTx): { readonly count: number; readonly vsize: number } {
    const rate = rateOf(tx)
    const { count, sum } = this.rated.before((each) => rate - rateOf(each), vsizeOf)
    return { count, vsize: sum }
  }

  /** Returns the transactions that pay to or spend from a script, newest first. */
  ofScript(scriptHash: string): readonly ShownTx[] {
    return this.scripts.find(({ hash }) => compareText(hash, scriptHash))?.txs ?? []
  }

  /** Returns the transaction that spends an output, `txid:vout`; undefined if there is none. */
  spenderOf(outpoint: string): ShownTx | undefined {
    const spend = this.spends.find((each) => compareText(each.outpoint, outpoint))
    return spend && this.get(spend.txid)
  }

  /** Yields the txids in their order, from the first one after another on. */
  *txidsAfter(txid: string): Generator<string> {
    for (const tx of this.txs.from((each) => (each.txid > txid ? 0 : -1))) yield tx.txid
  }

  /** Returns the set without the transactions with the txids `removed`, and with the transactions `added`; they replace equal txids. */
  changed(removed: Iterable<string>, added: readonly ShownTx[]): MempoolTxs {
    const entering = new Map(added.map((tx) => [tx.txid, tx]))
    const leaving = new Map<string, ShownTx>()
    for (const txid of [...removed, ...entering.keys()]) {
      const tx = this.get(txid)
      if (tx !== undefined) leaving.set(txid, tx)
    }
    if (leaving.size === 0 && entering.size === 0) return this
    const spends = this.spends.changed(
      [...leaving.values()].flatMap(spendsOf),
      [...entering.values()].flatMap(spendsOf),
    )
    const get = (txid: string): ShownTx | undefined =>
      entering.get(txid) ?? (leaving.has(txid) ? undefined : this.get(txid))
    const graph: TxGraph<ShownTx> = { get, childrenOf: (txid) => childrenOf(txid, spends, get) }
    const neighbours = [...leaving.values()].flatMap((tx) => [...neighboursOf(tx, graph)])
    const changed = [...neighbours, ...entering.values()]
    for (const { tx, packaged } of repackaged(changed, graph)) {
      const before = this.get(tx.txid)
      if (before !== undefined) leaving.set(tx.txid, before)
      entering.set(tx.txid, { ...tx, packaged })
    }
    const [without, txs] = [[...leaving.values()], [...entering.values()]]
    return new MempoolTxs(
      this.txs.changed(without, txs),
      this.aged.changed(without, txs),
      this.rated.changed(without, txs),
      this.#scriptsAfter(without, txs),
      spends,
    )
  }

  #scriptsAfter(leaving: readonly ShownTx[], entering: readonly ShownTx[]): SortedList<OfScript> {
    const after = new Map<string, Set<ShownTx>>()
    const of = (hash: string): Set<ShownTx> => {
      const current = after.get(hash)
      if (current !== undefined) return current
      const ofHash = new Set(this.ofScript(hash))
      after.set(hash, ofHash)
      return ofHash
    }
    for (const tx of leaving) for (const hash of tx.changes.keys()) of(hash).delete(tx)
    for (const tx of entering) for (const hash of tx.changes.keys()) of(hash).add(tx)
    const changed = [...after].map(([hash, txs]) => ({ hash, txs: [...txs].sort(byAge) }))
    return this.scripts.changed(
      changed.filter(({ txs }) => txs.length === 0),
      changed.filter(({ txs }) => txs.length > 0),
    )
  }

  /** Returns the transactions whose objects are not in another version of the set. */
  notIn(other: MempoolTxs): ShownTx[] {
    const txs: ShownTx[] = []
    this.txs.forEachNotIn(other.txs, (tx) => txs.push(tx))
    return txs
  }
}

const spendsOf = ({ txid, outpoints }: ShownTx): Spend[] => outpoints.map((outpoint) => ({ outpoint, txid }))

/** Returns the transactions that spend from each of some, and all outputs that they spend. */
function linksOf(txs: ReadonlyMap<string, ShownTx>): {
  readonly children: ReadonlyMap<string, readonly ShownTx[]>
  readonly spends: SortedList<Spend>
} {
  const children = new Map<string, ShownTx[]>()
  const spends = new Map<string, Spend>()
  const conflicting: Spend[] = []
  for (const tx of txs.values()) {
    for (const spend of spendsOf(tx)) {
      if (spends.has(spend.outpoint)) conflicting.push(spend)
      else spends.set(spend.outpoint, spend)
      const parent = spend.outpoint.slice(0, 64)
      if (!txs.has(parent)) continue
      const siblings = children.get(parent)
      if (siblings === undefined) children.set(parent, [tx])
      else siblings.push(tx)
    }
  }
  const sorted = [...spends.keys()].sort().map((outpoint) => spends.get(outpoint) as Spend)
  return { children, spends: SortedList.of(sorted, bySpend).changed([], conflicting) }
}

function* childrenOf(
  txid: string,
  spends: SortedList<Spend>,
  get: (txid: string) => ShownTx | undefined,
): Generator<ShownTx> {
  const first = `${txid}:`
  for (const spend of spends.from(({ outpoint }) => (outpoint < first ? -1 : 0))) {
    if (!spend.outpoint.startsWith(first)) return
    const child = get(spend.txid)
    if (child !== undefined) yield child
  }
}
