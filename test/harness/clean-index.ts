import { expect } from 'vitest'
import { loadChainView } from '../../pipelines/tables/chain-view.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { VISIBLE_TABLES, visibleRowsQuery } from '../../pipelines/tables/visible.js'

/** Two indexes of one chain show the same rows: EXCEPT is empty both ways, for every table. */
export async function expectSameRows(one: Database, other: Database): Promise<void> {
  const views = await Promise.all(
    [one, other].map(async (db) => {
      const head = await latestHead(db)
      if (head === undefined) throw new Error(`${db.name} has no head`)
      return { db, view: await loadChainView(db, head) }
    }),
  )
  const [left, right] = views
  if (left === undefined || right === undefined) throw new Error('two indexes are compared')
  expect(left.view.head.tipHash).toBe(right.view.head.tipHash)
  for (const table of VISIBLE_TABLES) {
    const [a, b] = [left, right].map(({ db, view }) => visibleRowsQuery(table, view, db.name)) as [
      string,
      string,
    ]
    const sql = `SELECT (SELECT count() FROM (${a} EXCEPT ${b})) AS only_one, (SELECT count() FROM (${b} EXCEPT ${a})) AS only_other,
      (SELECT count() FROM (${a})) AS rows`
    const [row] = await one.query<{ only_one: string; only_other: string; rows: string }>(sql)
    expect({ table, ...row }).toMatchObject({ table, only_one: '0', only_other: '0' })
    if (table === 'blocks') expect(Number(row?.rows)).toBe(left.view.head.tipHeight + 1)
  }
}
