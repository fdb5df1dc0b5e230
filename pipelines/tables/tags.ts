import type { BlockId } from '../chain/block.js'
import { coded, Defect, type ErrorCode } from '../errors.js'
import { tagKey } from './chain-view.js'
import type { Database } from './clickhouse.js'
import { integerSet } from './keys.js'

/** Thrown if two blocks of one height have the same tag: rows could not be attributed to either block. */
export class BlockTagRepeated extends coded<ErrorCode, Defect>('HW_BLOCK_TAG_REPEATED', Defect) {}

/**
 * Checks that the tag of each block identifies it among the blocks of its height. Call it after the rows of the blocks in `blocks`
 * were inserted, and before their other rows are: of two writers that insert at the same time, the later writer sees both blocks.
 * @throws BlockTagRepeated; DatabaseUnavailable.
 */
export async function assertOwnTags(db: Database, blocks: readonly BlockId[]): Promise<void> {
  if (blocks.length === 0) return
  const heights = blocks.map(({ height }) => height)
  const span = { from: Math.min(...heights), to: Math.max(...heights) }
  const own = integerSet(blocks.map(({ height, hash }) => tagKey(height, hash)))
  const sql = `SELECT height, groupUniqArray(lower(hex(hash))) AS hashes FROM blocks
    WHERE height BETWEEN {from:UInt32} AND {to:UInt32} AND (toUInt64(height) * 4294967296 + block_tag) IN ${own}
    GROUP BY height, block_tag HAVING length(hashes) > 1 LIMIT 1`
  const [row] = await db.query<{ height: number; hashes: string[] }>(sql, span)
  if (row === undefined) return
  throw new BlockTagRepeated(
    `blocks ${row.hashes.join(' and ')} at ${String(row.height)} end with the same four bytes, by which rows name their block: index with a new log, which contains only one of them`,
  )
}
