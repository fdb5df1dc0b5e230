import type { ByteQuerier, Querier } from '../../../pipelines/tables/keys.js'
import { BLOCKS } from '../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../pipelines/tables/selection.js'

/** The columns of a block. */
export const BLOCK = new Selection(BLOCKS.columns)

/** A row of `blocks`. Amounts in base units. */
export type BlockRow = SelectedRow<typeof BLOCKS.columns>

/** Returns the rows of all branches between two heights (inclusive), highest first. A row may be there twice. */
export async function blocksBetween(tables: ByteQuerier, from: number, to: number): Promise<BlockRow[]> {
  const rows = `FROM blocks WHERE height BETWEEN {from:UInt32} AND {to:UInt32} ORDER BY height DESC, hash`
  return BLOCK.bytes(tables, rows, { from, to })
}

/** Returns the row of a block, undefined for an unknown one. It is the same on every branch. */
export async function blockAt(
  tables: ByteQuerier,
  height: number,
  hash: string,
): Promise<BlockRow | undefined> {
  const row = `FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1`
  return (await BLOCK.bytes(tables, row, { height, hash }))[0]
}

/** Returns the height of a block, undefined if it has no row. */
export async function heightOf(tables: Querier, hash: string): Promise<number | undefined> {
  const sql = `SELECT height FROM block_heights WHERE hash = unhex({hash:String})`
  return (await tables.query<{ height: number }>(sql, { hash }))[0]?.height
}
