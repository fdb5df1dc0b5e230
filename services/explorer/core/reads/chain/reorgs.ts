import type { Static } from '@sinclair/typebox'
import { SHOWN_HEADS } from '../../../../../pipelines/tables/writers.js'
import { limit, page } from '../arguments.js'
import { declareRead, type ReadContext } from '../read.js'
import { paged } from '../lists.js'
import { Reorg } from '../shapes.js'

interface Row {
  readonly tip: string
  readonly now: readonly string[]
  readonly gone: readonly string[]
  readonly before: string
}

/** Returns the reorganisations with numbers in a range (inclusive), newest first. */
async function reorgsBetween(
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  from: number,
  to: number,
): Promise<Row[]> {
  const sql = `SELECT tip_height AS tip, arrayMap(each -> lower(hex(each)), connected) AS now,
      arrayMap(each -> lower(hex(each)), disconnected) AS gone, reorgs_before AS before FROM heads
    WHERE heads.position <= {position:Int64} AND reorgs_before BETWEEN {from:UInt64} AND {to:UInt64} AND notEmpty(disconnected)
      AND ${SHOWN_HEADS} ORDER BY heads.position DESC LIMIT 1 BY heads.position`
  return tables.query<Row>(sql, { position: chain.position, from: from - 1, to: to - 1 })
}

/** Returns the reorganisations with numbers in a range (inclusive, from 1), newest first, each with both branches. */
export async function reorgsOf(
  context: Pick<ReadContext, 'chain' | 'tables'>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Static<typeof Reorg>[]> {
  if (to < from) return []
  return (await reorgsBetween(context, from, to)).map(({ tip, now, gone, before }) => {
    const fork = Number(tip) - now.length
    return {
      seq: Number(before) + 1,
      fork_height: fork,
      depth: gone.length,
      disconnected: gone.map((hash, index) => ({ height: fork + gone.length - index, hash })),
      connected: now.map((hash, index) => ({ height: fork + 1 + index, hash })),
    }
  })
}

export const reorgs = declareRead({
  name: 'reorgs',
  about: 'The reorganisations that the index has seen, newest first, each with both branches.',
  path: '/reorgs',
  fresh: 'head',
  args: { page, limit: limit(20, 100) },
  answer: paged(Reorg),
  async resolve({ chain, tables }, { page, limit }) {
    const total = chain.reorgs
    const to = total - (page - 1) * limit
    if (to < 1) return { items: [], total, page, limit }
    const items = await reorgsOf({ chain, tables }, { from: Math.max(1, to - limit + 1), to })
    return { items, total, page, limit }
  },
})
