import type { Static } from '@sinclair/typebox'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import type { ScriptType } from '../../../../../pipelines/chain/script.js'
import { valueByType as valuesOf } from '../../../../../pipelines/tables/lists/value-by-type.js'
import { limit } from '../arguments.js'
import { declareRead, NotBuiltYet } from '../read.js'
import { listed } from '../lists.js'
import { TypeValue } from '../shapes.js'

type TypeValue = Static<typeof TypeValue>

/** The protection of the value of scripts with an address. */
const PROTECTIONS: Partial<Record<ScriptType, TypeValue['protection']>> = {
  pubkeyhash: 'hidden',
  scripthash: 'hidden',
  witness_v0_keyhash: 'hidden',
  witness_v0_scripthash: 'hidden',
  witness_v1_taproot: 'exposed',
  witness_v2_p2mr: 'protected',
  dilithium_pubkeyhash: 'protected',
}

export const valueByType = declareRead({
  name: 'valueByType',
  about: 'The value of all unspent outputs by the type of their script, largest first.',
  path: '/stats/value',
  fresh: 'head',
  args: { limit: limit(20, 20) },
  answer: listed(TypeValue),
  async resolve({ chain: { tip, view, network }, tables }, { limit }) {
    if (tip === undefined || view === undefined || network === undefined) return { items: [], limit }
    const values = await valuesOf(tables, view.tagFilter(), network)
    if (values === undefined) throw new NotBuiltYet('no ranking of this chain yet')
    const knownValue = values.reduce((sum, { value }) => sum + value, 0n)
    const item = (script_type: ScriptType | null, value: bigint, addresses: number | null): TypeValue => ({
      script_type,
      protection: (script_type === null ? undefined : PROTECTIONS[script_type]) ?? 'unknown',
      value: String(value),
      percentage: percentOf(value, tip.supply, 2),
      addresses,
    })
    const items = [
      ...values.map(({ type, value, addresses }) => item(type, value, addresses)),
      item(null, tip.supply - knownValue, null),
    ].filter(({ value }) => value !== '0')
    items.sort((one, other) => (BigInt(one.value) < BigInt(other.value) ? 1 : -1))
    return { items: items.slice(0, limit), limit }
  },
})
