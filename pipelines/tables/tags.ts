import { type BlockId, blockTag } from '../chain/block.js'
import { coded, Defect, type ErrorCode } from '../errors.js'

/** Thrown if two blocks of one height have the same tag: rows could not be attributed to either block. */
export class BlockTagRepeated extends coded<ErrorCode, Defect>('HW_BLOCK_TAG_REPEATED', Defect) {}

/**
 * Checks that the tag of each block identifies it among the blocks of its height.
 * @param written the blocks of its height in the tables, read after its row in `blocks` was inserted, and before its other rows are: of
 *   two writers that insert at the same time, the later writer sees both blocks.
 * @throws BlockTagRepeated.
 */
export function assertOwnTags(blocks: readonly BlockId[], written: Iterable<BlockId>): void {
  const keyOf = ({ height, hash }: BlockId): string => `${String(height)} ${String(blockTag(hash))}`
  const own = new Map(blocks.map((block) => [keyOf(block), block.hash]))
  for (const block of written) {
    const hash = own.get(keyOf(block))
    if (hash === undefined || hash === block.hash) continue
    throw new BlockTagRepeated(
      `blocks ${hash} and ${block.hash} at ${String(block.height)} end with the same four bytes, by which rows name their block: index with a new log, which contains only one of them`,
    )
  }
}
