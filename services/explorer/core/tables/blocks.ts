import { type ByteQuerier, KEYS, type Querier, queryByKeys } from '../../../../pipelines/tables/keys.js'
import { BLOCK_COLUMNS, UNSYNCED_BLOCKS } from '../../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../../pipelines/tables/selection.js'

/** The columns of a block. */
export const BLOCK = new Selection(BLOCK_COLUMNS)

/** A row of `blocks`. Amounts in base units. */
export type BlockRow = SelectedRow<typeof BLOCK_COLUMNS>

/** Returns the rows of all branches between two heights (inclusive), highest first. A row may be there twice. */
export async function blocksBetween(tables: ByteQuerier, from: number, to: number): Promise<BlockRow[]> {
  const rows = `FROM blocks WHERE height BETWEEN {from:UInt32} AND {to:UInt32} ORDER BY height DESC, hash`
  return BLOCK.bytes(tables, rows, { from, to })
}

/** Returns the row of a block, undefined for an unknown block. The row does not depend on the branch. */
export async function blockAt(
  tables: ByteQuerier,
  height: number,
  hash: string,
): Promise<BlockRow | undefined> {
  const row = `FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1`
  return (await BLOCK.bytes(tables, row, { height, hash }))[0]
}

/**
 * Returns the heights of blocks by hash; those without a row are missing. A power cut can lose rows of the point table, which the
 * materializer writes again only after its start: of the blocks that this may concern, `blocks` has the height, too.
 */
export async function heightsOf(tables: Querier, hashes: readonly string[]): Promise<Map<string, number>> {
  const heights = new Map<string, number>()
  const read = async (rows: string, keys: readonly string[]): Promise<void> => {
    const sql = `SELECT lower(hex(hash)) AS id, height FROM ${rows} hash IN ${KEYS}`
    for (const { id, height } of await queryByKeys<{ id: string; height: number }>(tables, sql, keys))
      heights.set(id, height)
  }
  await read('block_heights WHERE', hashes)
  const others = hashes.filter((hash) => !heights.has(hash))
  const newest = `height > (SELECT toInt64(max(height)) - ${String(UNSYNCED_BLOCKS)} FROM blocks)`
  await read(`blocks WHERE ${newest} AND`, others)
  return heights
}
