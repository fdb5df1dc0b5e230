import { isDilithiumType, isTypeWithAddress } from '../../chain/address.js'
import { DILITHIUM_SPEND, typeIndexOf } from '../../chain/columns/protection.js'
import type { Network } from '../../chain/networks.js'
import { type ScriptType, scriptType } from '../../chain/script.js'

/** The totals of a script after its last transaction so far. */
export interface Totals {
  /** The number of its transactions. */
  ordinal: number
  /** Height of the block of the last one. */
  height: number
  received: bigint
  sent: bigint
  /** The number of outputs that it ever received. */
  funded: number
  unspent: number
  /** The kinds of its spends, as bits. */
  spendKinds: number
  /** Days of its transactions that a later block can still have, as UTC days since 1970. */
  openDays: readonly number[]
}

/** The totals of a script and its constant properties. */
export interface Script extends Totals {
  readonly type: ScriptType
  readonly typeIndex: number
  readonly hasAddress: boolean
  readonly isDilithium: boolean
}

/** The changes of a script's totals by a transaction. */
type Touch = Pick<Totals, 'height' | 'received' | 'sent' | 'funded' | 'unspent' | 'spendKinds' | 'openDays'>

export const NO_TOTALS: Totals = {
  ordinal: 0,
  height: -1,
  received: 0n,
  sent: 0n,
  funded: 0,
  unspent: 0,
  spendKinds: 0,
  openDays: [],
}

/** Returns a new script. Every script comes from this literal, without a spread, because V8 changes such objects several times as fast. */
export function scriptWith(totals: Readonly<Totals>, script: Buffer, network: Network): Script {
  const type = scriptType(script, network)
  return {
    ordinal: totals.ordinal,
    height: totals.height,
    received: totals.received,
    sent: totals.sent,
    funded: totals.funded,
    unspent: totals.unspent,
    spendKinds: totals.spendKinds,
    openDays: totals.openDays,
    type,
    typeIndex: typeIndexOf(type),
    hasAddress: isTypeWithAddress(type),
    isDilithium: isDilithiumType(type),
  }
}

/** Returns whether an address counts as one of Dilithium: by its script, or by one of its spends. */
export function isOfDilithium({ isDilithium, spendKinds }: Script): boolean {
  return isDilithium || (spendKinds & DILITHIUM_SPEND) !== 0
}

/** Applies a transaction to the totals of a script. */
export function addTouch(totals: Totals, touch: Touch): void {
  totals.ordinal++
  totals.height = touch.height
  totals.received += touch.received
  totals.sent += touch.sent
  totals.funded += touch.funded
  totals.unspent += touch.unspent
  totals.spendKinds |= touch.spendKinds
  totals.openDays = touch.openDays
}

/** Selects the totals of a row of `script_txs` for `toTotals`. */
export const TOTALS_TUPLE = `(script_txs.ordinal, script_txs.height, total_received, total_sent, funded_count, unspent_count,
  spend_kinds, open_days)`

type TotalsValues = [number, number, string, string, number, number, number, number[]]

/** Parses `TOTALS_TUPLE` as the server returns it; whether its elements have names depends on the server's version. */
export function toTotals(tuple: TotalsValues | Readonly<Record<string, unknown>>): Totals {
  const values = Object.values(tuple) as TotalsValues
  const [ordinal, height, received, sent, funded, unspent, spendKinds, openDays] = values
  return {
    ordinal,
    height,
    received: BigInt(received),
    sent: BigInt(sent),
    funded,
    unspent,
    spendKinds,
    openDays,
  }
}
