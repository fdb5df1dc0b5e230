/** A script's figures after its last transaction so far. */
export interface Totals {
  /** How many transactions it has had. */
  ordinal: number
  /** Of the block of the last one. */
  height: number
  received: bigint
  sent: bigint
  unspent: number
  firstHeight: number
  firstTime: number
  showsDilithium: boolean
  /** UTC days since 1970 of its transactions that a later block can still have. */
  openDays: readonly number[]
}

export function noTotals(): Totals {
  return {
    ordinal: 0,
    height: -1,
    received: 0n,
    sent: 0n,
    unspent: 0,
    firstHeight: 0,
    firstTime: 0,
    showsDilithium: false,
    openDays: [],
  }
}
