import { expect, inject, it } from 'vitest'
import { HEADS_PART, PARTS } from '../../../pipelines/snapshot/parts.js'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { restoreTables } from '../../harness/template.js'

/** The tables that are not part of a snapshot; the decision says why. */
const LEFT_OUT = [
  'balance_floors',
  'block_heights',
  'ranked_balances',
  'ranking_changes',
  'ranking_order',
  'ranking_steps',
  'rankings',
  'schema_version',
  'unspent_lists',
  'unspent_outputs',
  'writers',
]

it('every table is part of a snapshot or left out, and divided by its whole key', async () => {
  const db = new Database({ url: inject('engineUrl'), database: `t_parts_${String(process.pid)}` })
  await restoreTables(db)
  const tables = await db.query<{ name: string; key: string }>(
    `SELECT name, sorting_key AS key FROM system.tables WHERE database = currentDatabase()`,
  )
  await db.command(`DROP DATABASE ${db.name} SYNC`)
  await db.close()
  const keys = new Map(tables.map(({ name, key }) => [name, key]))
  const parts = [...PARTS, HEADS_PART]
  expect([...parts.map(({ table }) => table), ...LEFT_OUT].toSorted()).toEqual([...keys.keys()].toSorted())
  for (const { table, by, key } of parts) {
    const columns = Object.keys(key).join(', ')
    // Point tables are divided by the beginning of the key of another table; several heads may have one position.
    if (by !== undefined || table === 'heads') expect(keys.get(by ?? table)).toContain(columns)
    else expect(columns, table).toBe(keys.get(table))
  }
})
