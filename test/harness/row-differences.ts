import { loadChainView } from '../../pipelines/tables/chain-view.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { balanceFloor } from '../../pipelines/tables/lists/balance-floor.js'
import { VISIBLE_TABLES, visibleRowsQuery } from '../../pipelines/tables/visible.js'

/** Differences between the visible rows of a table in two indexes. */
export interface RowDifference {
  readonly table: string
  readonly rows: number
  readonly onlyOne: number
  readonly onlyOther: number
}

/**
 * Compares what two indexes of one chain show, table by table, by the 128-bit hashes of the rows.
 * @param atOnce tables that are compared at the same time, which takes as much more memory.
 * @throws Error where one shows nothing, or they are not at the same tip with all of its blocks.
 */
export async function rowDifferences(one: Database, other: Database, atOnce = 1): Promise<RowDifference[]> {
  const views = await Promise.all(
    [one, other].map(async (db) => {
      const head = await latestHead(db)
      if (head === undefined) throw new Error(`${db.name} has no head`)
      return loadChainView(db, head)
    }),
  )
  const [left, right] = views
  if (left === undefined || right === undefined) throw new Error('two indexes are compared')
  if (left.head.tipHash !== right.head.tipHash)
    throw new Error(`the tips are ${left.head.tipHash} and ${right.head.tipHash}`)
  // Which blocks have balances depends on the history of an index.
  const floor = Math.max(...(await Promise.all([one, other].map(balanceFloor))))
  const compare = async (table: (typeof VISIBLE_TABLES)[number]): Promise<RowDifference> => {
    const above = table === 'script_balances' ? `WHERE height > ${String(floor)}` : ''
    const a = `SELECT * FROM (${visibleRowsQuery(table, left, one.name)}) ${above}`
    const b = `SELECT * FROM (${visibleRowsQuery(table, right, other.name)}) ${above}`
    const sql = `SELECT sumIf(a, b = 0) AS only_one, sumIf(b, a = 0) AS only_other, sum(a) AS rows FROM (
      SELECT countIf(is_one) AS a, countIf(NOT is_one) AS b FROM (
        SELECT true AS is_one, sipHash128(*) AS row FROM (${a}) UNION ALL SELECT false, sipHash128(*) FROM (${b})) GROUP BY row)`
    const [row] = await one.query<{ only_one: string; only_other: string; rows: string }>(sql)
    return {
      table,
      rows: Number(row?.rows),
      onlyOne: Number(row?.only_one),
      onlyOther: Number(row?.only_other),
    }
  }
  const found: RowDifference[] = []
  for (let from = 0; from < VISIBLE_TABLES.length; from += atOnce)
    found.push(...(await Promise.all(VISIBLE_TABLES.slice(from, from + atOnce).map(compare))))
  const blocks = found.find(({ table }) => table === 'blocks')?.rows
  if (blocks !== left.head.tipHeight + 1)
    throw new Error(`${String(blocks)} blocks up to height ${String(left.head.tipHeight)}`)
  return found
}
