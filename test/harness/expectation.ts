import { EXPECTED_BLOCKS } from '../../pipelines/tables/mempool/history.js'
import { createMempoolTables, mempoolDatabaseOf } from '../../pipelines/tables/mempool/tables.js'
import { EncodedRows, type Row } from '../../pipelines/tables/rowbinary.js'
import type { Pipeline } from './pipeline.js'

/** Writes what was expected of a block, nothing, as a materializer does that follows the node. */
export async function writeExpectation(
  { db, name }: Pick<Pipeline, 'db' | 'name'>,
  height: number,
  hash: string,
): Promise<void> {
  const history = db.sibling(mempoolDatabaseOf(name))
  await createMempoolTables(history, false)
  const sums = { count: 0, weight: 0, vsize: 0, fees: 0n }
  const columns = ['expected', 'mined', 'matched'].flatMap((kind) =>
    Object.entries(sums).map(([column, sum]) => [`${kind}_${column}`, sum]),
  )
  const row = { height, hash, seen_at: 1, observed_at: 0, ...Object.fromEntries(columns) }
  await history.insert(new EncodedRows(EXPECTED_BLOCKS, [row as Row<typeof EXPECTED_BLOCKS.columns>]))
  await history.close()
}
