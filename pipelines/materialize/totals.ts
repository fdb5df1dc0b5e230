/** A script's figures after its last transaction so far. */
export interface Totals {
  /** How many transactions it has had. */
  ordinal: bigint
  received: bigint
  sent: bigint
  unspent: bigint
  firstHeight: number
  firstTime: number
  showsDilithium: boolean
  /** UTC days since 1970 of its transactions that a later block can still have. */
  openDays: readonly number[]
}

export function noTotals(): Totals {
  return {
    ordinal: 0n,
    received: 0n,
    sent: 0n,
    unspent: 0n,
    firstHeight: 0,
    firstTime: 0,
    showsDilithium: false,
    openDays: [],
  }
}

/** The totals that were used last, by script hash; bounded, since the tables have all of them. */
export class TotalsCache {
  readonly #entries = new Map<string, Totals>()

  constructor(private readonly most: number) {}

  /** The entry itself; whoever changes it must put it again, or clear the cache where that came to nothing. */
  get(scriptHash: string): Totals | undefined {
    const totals = this.#entries.get(scriptHash)
    if (totals === undefined) return undefined
    this.#entries.delete(scriptHash)
    this.#entries.set(scriptHash, totals)
    return totals
  }

  put(scriptHash: string, totals: Totals): void {
    this.#entries.delete(scriptHash)
    this.#entries.set(scriptHash, totals)
    if (this.#entries.size <= this.most) return
    const oldest = this.#entries.keys().next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }

  clear(): void {
    this.#entries.clear()
  }
}
