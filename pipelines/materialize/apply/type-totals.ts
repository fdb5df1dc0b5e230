import { type Protection, SPENDABLE_TYPES } from '../../chain/columns/protection.js'
import type { TYPE_SUMS } from '../../tables/schema.js'
import type { Sums } from './sums.js'

type TypeSums = Pick<Sums, keyof typeof TYPE_SUMS>

/** The unspent outputs of a script: their sum (base units), their number, and what protects them. */
export interface Unspent {
  readonly balance: bigint
  readonly outputs: number
  readonly protection: Protection
}

/** Totals of all unspent outputs of the chain by the type of their scripts. */
export class TypeTotals {
  readonly #values: bigint[]
  readonly #exposed: bigint[]
  readonly #protected: bigint[]
  readonly #outputs: bigint[]
  readonly #funded: bigint[]

  /** @param before the totals after the block below. */
  constructor(before: TypeSums) {
    this.#values = counters(before.type_values)
    this.#exposed = counters(before.type_exposed)
    this.#protected = counters(before.type_protected)
    this.#outputs = counters(before.type_outputs)
    this.#funded = counters(before.type_funded)
  }

  /** Replaces the unspent outputs of a script. @param typeIndex the place of its type in `SPENDABLE_TYPES`. */
  change(typeIndex: number, before: Unspent, after: Unspent): void {
    add(this.#values, typeIndex, after.balance - before.balance)
    add(this.#exposed, typeIndex, valueIf('exposed', after) - valueIf('exposed', before))
    add(this.#protected, typeIndex, valueIf('protected', after) - valueIf('protected', before))
    add(this.#outputs, typeIndex, BigInt(after.outputs - before.outputs))
    if (after.balance > 0n !== before.balance > 0n)
      add(this.#funded, typeIndex, after.balance > 0n ? 1n : -1n)
  }

  get columns(): TypeSums {
    return {
      type_values: trimmed(this.#values),
      type_exposed: trimmed(this.#exposed),
      type_protected: trimmed(this.#protected),
      type_outputs: trimmed(this.#outputs),
      type_funded: trimmed(this.#funded),
    }
  }
}

const counters = (totals: readonly bigint[]): bigint[] => SPENDABLE_TYPES.map((_, type) => totals[type] ?? 0n)

const valueIf = (protection: Protection, unspent: Unspent): bigint =>
  unspent.protection === protection ? unspent.balance : 0n

function add(counts: bigint[], type: number, change: bigint): void {
  counts[type] = (counts[type] ?? 0n) + change
}

const trimmed = (counts: readonly bigint[]): bigint[] =>
  counts.slice(0, counts.findLastIndex((count) => count !== 0n) + 1)
