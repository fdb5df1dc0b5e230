import type { Static } from '@sinclair/typebox'
import { isTypeWithAddress } from '../../../../../pipelines/chain/address.js'
import { protectionOf, SPENDABLE_TYPES } from '../../../../../pipelines/chain/columns/protection.js'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { dateOf } from '../../../../../pipelines/chain/time.js'
import { MissingBlock } from '../../../../../pipelines/tables/chain-view.js'
import { integerSet } from '../../../../../pipelines/tables/keys.js'
import { TYPE_SUMS } from '../../../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../../../pipelines/tables/selection.js'
import { daysOf } from '../../state/past.js'
import { lastHeights } from '../addresses/balance-history.js'
import { at, date, limit } from '../arguments.js'
import { daysBetween } from './day-figures.js'
import { listed } from '../lists.js'
import { declareRead, NO_BLOCK, type ReadContext } from '../read.js'
import { Exposure, ExposureItem, TypeValue, ValueItem } from '../shapes.js'

type TypeSums = SelectedRow<typeof TYPE_SUMS>
type Chain = Pick<ReadContext, 'chain' | 'tables'>

const AT_BLOCKS = new Selection({ height: 'u32', block_tag: 'u32', ...TYPE_SUMS })
const NO_SUMS: TypeSums = {
  typeValues: [],
  typeExposed: [],
  typeProtected: [],
  typeOutputs: [],
  typeFunded: [],
}

const SPAN = { from: date('first day, UTC'), to: date('last day, UTC'), limit: limit(30, 365), at }

export const valueByType = declareRead({
  name: 'valueByType',
  about: 'The value of all unspent outputs by the type of their script, largest first.',
  path: '/stats/value',
  fresh: 'head',
  args: { limit: limit(20, 20), at },
  answer: listed(TypeValue),
  notFound: [NO_BLOCK],
  async resolve(context, { limit }) {
    return { items: byType(await sumsAtTip(context)).slice(0, limit), limit }
  },
})

export const exposure = declareRead({
  name: 'exposure',
  about:
    'The coins that a computer could take that derives private keys from public ones, because the chain shows a public key: by P2PK, bare multisig and P2TR scripts, or by an earlier spend. Keys that other scripts, unconfirmed transactions or anything but the chain reveal do not count.',
  path: '/stats/exposure',
  fresh: 'head',
  args: { at },
  answer: Exposure,
  notFound: [NO_BLOCK],
  async resolve(context) {
    const sums = await sumsAtTip(context)
    return { height: context.chain.height, ...exposureOf(sums), types: byType(sums) }
  },
})

export const exposureHistory = declareRead({
  name: 'exposureHistory',
  about: 'The coins whose public key the chain shows, at the end of each UTC day, newest first.',
  path: '/stats/exposure/history',
  fresh: 'head',
  args: SPAN,
  answer: listed(ExposureItem),
  notFound: [NO_BLOCK],
  async resolve(context, span) {
    const ends = await endsOfDays(context, span)
    return { items: ends.map(({ sums, ...end }) => ({ ...end, ...exposureOf(sums) })), limit: span.limit }
  },
})

export const valueHistory = declareRead({
  name: 'valueHistory',
  about:
    'The value of all unspent outputs by the type of their script, at the end of each UTC day, newest first.',
  path: '/stats/value/history',
  fresh: 'head',
  args: SPAN,
  answer: listed(ValueItem),
  notFound: [NO_BLOCK],
  async resolve(context, span) {
    const ends = await endsOfDays(context, span)
    const items = ends.map(({ sums, ...end }) => {
      const types = byType(sums).map(({ script_type, value, exposed, protected: safe }) => ({
        script_type: String(script_type),
        value,
        exposed,
        protected: safe,
      }))
      return { ...end, types }
    })
    return { items, limit: span.limit }
  },
})

interface DayEnd {
  readonly date: string
  readonly height: number
  readonly sums: TypeSums
}

/** Returns the totals after the last block of each of the newest days of a span, newest first. */
async function endsOfDays(
  context: Chain,
  span: Parameters<typeof daysBetween>[1],
): Promise<readonly DayEnd[]> {
  const { chain, tables } = context
  const shown = daysBetween(await daysOf(chain, tables), span)
  const heights = lastHeights(
    shown.map(({ day }) => day),
    chain.blocks,
  )
  const sums = await sumsAt(context, heights)
  return shown.map(({ day }, index) => {
    const height = heights[index] ?? 0
    return { date: dateOf(day), height, sums: sums(height) }
  })
}

async function sumsAtTip(context: Chain): Promise<TypeSums> {
  const { tip } = context.chain
  return tip === undefined ? NO_SUMS : (await sumsAt(context, [tip.height]))(tip.height)
}

/** Returns a function that returns the totals after the block of the chain at one of some heights. */
async function sumsAt(
  { chain, tables }: Chain,
  heights: readonly number[],
): Promise<(height: number) => TypeSums> {
  const rows =
    heights.length === 0
      ? []
      : await AT_BLOCKS.bytes(
          tables.unchecked,
          `FROM blocks WHERE height IN ${integerSet(heights.map(BigInt))}`,
        )
  // A Map, because a row may be there twice.
  const byHeight = new Map(
    rows.filter((row) => chain.blocks.has(row.height, row.blockTag)).map((row) => [row.height, row]),
  )
  return (height) => {
    const sums = byHeight.get(height)
    if (sums === undefined)
      throw new MissingBlock(`block ${chain.blocks.hashAt(height)} of the chain is missing from the tables`)
    return sums
  }
}

/** Returns the figures of the types that have unspent outputs, largest first. */
function byType(sums: TypeSums): TypeValue[] {
  const supply = total(sums.typeValues)
  const types = SPENDABLE_TYPES.flatMap((type, index) => {
    const at = (totals: readonly bigint[]): bigint => totals[index] ?? 0n
    if (at(sums.typeOutputs) === 0n) return []
    const value = at(sums.typeValues)
    const item = {
      script_type: type,
      protection: protectionOf(type, 0),
      value: String(value),
      percentage: percentOf(value, supply, 2),
      exposed: String(at(sums.typeExposed)),
      protected: String(at(sums.typeProtected)),
      outputs: Number(at(sums.typeOutputs)),
      addresses: isTypeWithAddress(type) ? Number(at(sums.typeFunded)) : null,
    }
    return [{ value, item }]
  })
  types.sort((one, other) => (one.value < other.value ? 1 : one.value > other.value ? -1 : 0))
  return types.map(({ item }) => item)
}

function exposureOf(sums: TypeSums): Omit<Static<typeof ExposureItem>, 'date' | 'height'> {
  const ofUnspent = (protection: 'hidden' | 'unknown'): bigint =>
    total(
      SPENDABLE_TYPES.map((type, index) => (protectionOf(type, 0) === protection ? rest(sums, index) : 0n)),
    )
  const [value, exposed] = [total(sums.typeValues), total(sums.typeExposed)]
  return {
    value: String(value),
    exposed: String(exposed),
    hidden: String(ofUnspent('hidden')),
    protected: String(total(sums.typeProtected)),
    unknown: String(ofUnspent('unknown')),
    exposedPercent: percentOf(exposed, value, 2),
  }
}

const total = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n)

/** Returns the value of a type that is neither exposed nor protected. */
const rest = ({ typeValues, typeExposed, typeProtected }: TypeSums, type: number): bigint =>
  (typeValues[type] ?? 0n) - (typeExposed[type] ?? 0n) - (typeProtected[type] ?? 0n)
