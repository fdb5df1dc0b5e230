import { type Protection, SPENDABLE_TYPES } from '../../chain/columns/protection.js'
import type { TYPE_SUMS } from '../../tables/schema.js'
import type { Sums } from './sums.js'

type TypeSums = Pick<Sums, keyof typeof TYPE_SUMS>

/** Changes of the totals of all unspent outputs of the chain by the type of their scripts. */
export class TypeTotals {
  readonly #values = SPENDABLE_TYPES.map(() => 0n)
  readonly #exposed = SPENDABLE_TYPES.map(() => 0n)
  readonly #protected = SPENDABLE_TYPES.map(() => 0n)
  readonly #outputs = SPENDABLE_TYPES.map(() => 0)
  readonly #funded = SPENDABLE_TYPES.map(() => 0)

  /**
   * Adds the changes of a script's balance (base units) and number of unspent outputs.
   * @param type the place of the script's type in `SPENDABLE_TYPES`.
   */
  add(type: number, balance: bigint, outputs: number, funded: number): void {
    this.#values[type] = (this.#values[type] ?? 0n) + balance
    this.#outputs[type] = (this.#outputs[type] ?? 0) + outputs
    this.#funded[type] = (this.#funded[type] ?? 0) + funded
  }

  /** Adds a change of the balance of scripts with a protection. */
  addTo(protection: Protection, type: number, balance: bigint): void {
    const sums =
      protection === 'exposed' ? this.#exposed : protection === 'protected' ? this.#protected : undefined
    if (sums !== undefined) sums[type] = (sums[type] ?? 0n) + balance
  }

  /** Returns the totals after the changes. @param before the totals before them. */
  after(before: TypeSums): TypeSums {
    return {
      type_values: sumOf(before.type_values, this.#values),
      type_exposed: sumOf(before.type_exposed, this.#exposed),
      type_protected: sumOf(before.type_protected, this.#protected),
      type_outputs: sumOf(before.type_outputs, this.#outputs.map(BigInt)),
      type_funded: sumOf(before.type_funded, this.#funded.map(BigInt)),
    }
  }
}

/** Returns totals by type after changes, without zeros at the end. */
function sumOf(before: readonly bigint[], changes: readonly bigint[]): bigint[] {
  const after = changes.map((change, type) => (before[type] ?? 0n) + change)
  return after.slice(0, after.findLastIndex((sum) => sum !== 0n) + 1)
}
