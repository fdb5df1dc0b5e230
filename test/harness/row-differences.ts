import { loadChainView } from '../../pipelines/tables/chain-view.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { VISIBLE_TABLES, visibleRowsQuery } from '../../pipelines/tables/visible.js'

/** How the visible rows of a table differ between two indexes. */
export interface RowDifference {
  readonly table: string
  readonly rows: number
  readonly onlyOne: number
  readonly onlyOther: number
}

/**
 * Compares what two indexes of one chain show, table by table: EXCEPT both ways.
 * @throws Error where one shows nothing, or they are not at the same tip with all of its blocks.
 */
export async function rowDifferences(one: Database, other: Database): Promise<RowDifference[]> {
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
  const found: RowDifference[] = []
  for (const table of VISIBLE_TABLES) {
    const a = visibleRowsQuery(table, left, one.name)
    const b = visibleRowsQuery(table, right, other.name)
    const sql = `SELECT (SELECT count() FROM (${a} EXCEPT ${b})) AS only_one, (SELECT count() FROM (${b} EXCEPT ${a})) AS only_other,
      (SELECT count() FROM (${a})) AS rows`
    const [row] = await one.query<{ only_one: string; only_other: string; rows: string }>(sql)
    const difference = {
      table,
      rows: Number(row?.rows),
      onlyOne: Number(row?.only_one),
      onlyOther: Number(row?.only_other),
    }
    if (table === 'blocks' && difference.rows !== left.head.tipHeight + 1)
      throw new Error(`${String(difference.rows)} blocks up to height ${String(left.head.tipHeight)}`)
    found.push(difference)
  }
  return found
}
