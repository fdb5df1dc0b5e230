import { Type } from '@sinclair/typebox'
import { dateOf, dayOf, dayOfDate } from '../../../../../pipelines/chain/time.js'
import { daysOf } from '../../state/past.js'
import type { CanonicalBlocks } from '../../tables/canonical-blocks.js'
import { address, at as atHeight, date, limit } from '../arguments.js'
import { declareRead, listFrom, NO_BLOCK, type ReadContext } from '../read.js'
import { listed } from '../lists.js'
import { BalanceItem } from '../shapes.js'
import { requestedScript } from '../script.js'

/** The totals of a script after some of its transactions. */
interface Totals {
  readonly txs: number
  /** Base units. */
  readonly received: bigint
  readonly sent: bigint
}

const NONE: Totals = { txs: 0, received: 0n, sent: 0n }

export const balanceHistory = declareRead({
  name: 'balanceHistory',
  about: 'The balance of an address at the end of each UTC day, newest first.',
  path: '/address/:address/balance-history',
  fresh: 'head',
  args: {
    address,
    interval: Type.Literal('day', { default: 'day', description: 'length of the intervals' }),
    from: date('first day, UTC'),
    to: date('last day, UTC'),
    limit: limit(30, 365),
    at: atHeight,
  },
  notFound: [NO_BLOCK],
  answer: listed(BalanceItem),
  emptyFrom: listFrom,
  async resolve(context, { address, from, to, limit }) {
    const { scriptHash } = await requestedScript(context, address)
    const first = dayOfDate(from ?? '') ?? 0
    const last = dayOfDate(to ?? '') ?? Number.POSITIVE_INFINITY
    const days = (await daysOf(context.chain, context.tables))
      .map(({ day }) => day)
      .filter((day) => day >= first && day <= last)
      .slice(0, limit)
    const oldest = days.at(-1)
    if (oldest === undefined) return { items: [], limit }
    const ends = lastHeights([...days, oldest - 1], context.chain.blocks)
    const totals = await totalsAt(ends, scriptHash, context)
    const items = days.flatMap((day, index) => {
      const at = totals[index] ?? NONE
      const before = totals[index + 1] ?? NONE
      if (at.txs === 0) return []
      return {
        date: dateOf(day),
        balance: String(at.received - at.sent),
        received: String(at.received - before.received),
        sent: String(at.sent - before.sent),
        tx_count: at.txs - before.txs,
      }
    })
    return { items, limit }
  },
})

/**
 * Returns for each day the height of the last block, in the order of the chain, that lies in it or in an earlier one; -1 for none.
 * @param days newest first.
 */
export function lastHeights(
  days: readonly number[],
  blocks: Pick<CanonicalBlocks, 'length' | 'timeAt'>,
): number[] {
  let height = blocks.length - 1
  return days.map((day) => {
    while (height >= 0 && dayOf(blocks.timeAt(height)) > day) height--
    return height
  })
}

/** Returns the totals of a script after the blocks at some heights, which fall. */
async function totalsAt(
  heights: readonly number[],
  script: string,
  { chain, tables }: ReadContext,
): Promise<Totals[]> {
  const ascending = [...new Set(heights)].filter((height) => height >= 0).reverse()
  const top = ascending.at(-1)
  if (chain.view === undefined || top === undefined) return heights.map(() => NONE)
  // The rows up to each height and above the previous height are named by the first height of their range.
  const starts = [0, ...ascending.slice(0, -1).map((height) => height + 1)]
  const sql = `SELECT toUInt32(roundDown(height, [${starts.join(',')}])) AS start, argMax((ordinal, total_received, total_sent), ordinal) AS row,
      toUInt32(row.1) AS txs, toString(row.2) AS received, toString(row.3) AS sent
    FROM script_txs WHERE script_hash = unhex({script:String}) AND height <= {top:UInt32} AND ${chain.view.tagFilter()} GROUP BY start`
  type Row = { start: number; txs: number; received: string; sent: string }
  const rowsByStart = new Map((await tables.query<Row>(sql, { script, top })).map((row) => [row.start, row]))
  const byHeight = new Map<number, Totals>()
  let totals = NONE
  for (const [index, height] of ascending.entries()) {
    const row = rowsByStart.get(starts[index] as number)
    if (row !== undefined) totals = { txs: row.txs, received: BigInt(row.received), sent: BigInt(row.sent) }
    byHeight.set(height, totals)
  }
  return heights.map((height) => byHeight.get(height) ?? NONE)
}
