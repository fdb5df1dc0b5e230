import { type AddressForm, addressForms } from '../../chain/address.js'
import type { Network } from '../../chain/networks.js'
import type { ScriptType } from '../../chain/script.js'
import type { Querier } from '../keys.js'
import { baseOf, type Filter, RANKED, withTouched } from './ranking.js'

export interface TypeValue {
  readonly type: ScriptType
  /** The sum of the balances, base units. */
  readonly value: bigint
  /** The number of funded addresses. */
  readonly addresses: number
}

/**
 * Returns the value of all addresses at the end of the filter's chain by the type of their scripts, in no order. Reads the newest
 * ranking completely: a row of some 60 bytes for each funded address.
 * @returns undefined if the balances are not known, as for a page of the ranking.
 */
export async function valueByType(
  db: Querier,
  filter: Filter,
  network: Network,
): Promise<TypeValue[] | undefined> {
  const base = await baseOf(db, filter)
  if (base === undefined) return undefined
  const forms = addressForms(network)
  const cases = forms.map((form, index) => `${conditionOf(form)}, ${String(index)}`).join(', ')
  const sql = `${withTouched(filter)} SELECT multiIf(${cases}, -1) AS form, sum(balance) AS value, count() AS addresses FROM (
      SELECT address, balance FROM (${RANKED}) WHERE script_hash NOT IN (SELECT script_hash FROM touched)
      UNION ALL
      SELECT address, balance_now AS balance FROM touched WHERE balance_now > 0
    ) GROUP BY form`
  type Row = { form: number; value: string; addresses: string }
  return (await db.query<Row>(sql, base.above)).map(({ form, value, addresses }) => {
    const type = forms[form]?.type ?? 'witness_unknown'
    return { type, value: BigInt(value), addresses: Number(addresses) }
  })
}

/** Returns an SQL condition over `address`. The texts of a form have letters and digits only. */
function conditionOf(form: AddressForm): string {
  if ('prefix' in form) {
    const ofLength = form.length === undefined ? '' : ` AND length(address) = ${String(form.length)}`
    return `startsWith(address, '${form.prefix}')${ofLength}`
  }
  // Numbers in base 58 without leading zeros are ordered by their length, then by their text.
  const at = (text: string): string => `(${String(text.length)}, '${text}')`
  return `(length(address), address) >= ${at(form.first)} AND (length(address), address) <= ${at(form.last)}`
}
