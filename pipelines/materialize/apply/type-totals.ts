import { type Protection, SPENDABLE_TYPES } from '../../chain/columns/protection.js'
import type { TYPE_SUMS } from '../../tables/schema.js'
import type { Sums } from './sums.js'

type TypeSums = Pick<Sums, keyof typeof TYPE_SUMS>

const noChanges = (): Float64Array => new Float64Array(SPENDABLE_TYPES.length)

/**
 * Changes of the totals of all unspent outputs of the chain by the type of their scripts, by one block. It adds numbers, because
 * a backfill adds several for each output: none of the sums exceeds twice the supply, which is below 2⁵³.
 */
export class TypeTotals {
  readonly #values = noChanges()
  readonly #exposed = noChanges()
  readonly #protected = noChanges()
  readonly #outputs = noChanges()
  readonly #funded = noChanges()

  /**
   * Adds the changes of a script's balance (base units) and number of unspent outputs.
   * @param type the place of the script's type in `SPENDABLE_TYPES`.
   */
  add(type: number, balance: number, outputs: number, funded: number): void {
    plus(this.#values, type, balance)
    plus(this.#outputs, type, outputs)
    plus(this.#funded, type, funded)
  }

  /** Adds a change of the balance of scripts with a protection. */
  addTo(protection: Protection, type: number, balance: number): void {
    if (protection === 'exposed') plus(this.#exposed, type, balance)
    else if (protection === 'protected') plus(this.#protected, type, balance)
  }

  /** Returns the totals after the changes, which begin again. @param before the totals before them. */
  after(before: TypeSums): TypeSums {
    return {
      type_values: sumsOf(before.type_values, this.#values),
      type_exposed: sumsOf(before.type_exposed, this.#exposed),
      type_protected: sumsOf(before.type_protected, this.#protected),
      type_outputs: sumsOf(before.type_outputs, this.#outputs),
      type_funded: sumsOf(before.type_funded, this.#funded),
    }
  }
}

function plus(sums: Float64Array, type: number, change: number): void {
  sums[type] = (sums[type] ?? 0) + change
}

/** Returns totals by type after changes, without zeros at the end, and sets the changes to zero. */
function sumsOf(before: readonly bigint[], changes: Float64Array): readonly bigint[] {
  let after: bigint[] | undefined
  for (let type = 0; type < changes.length; type++) {
    const change = changes[type] ?? 0
    if (change === 0) continue
    after ??= before.slice()
    while (after.length <= type) after.push(0n)
    after[type] = (after[type] ?? 0n) + BigInt(change)
    changes[type] = 0
  }
  while (after?.at(-1) === 0n) after.pop()
  return after ?? before
}
