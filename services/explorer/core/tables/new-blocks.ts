import type { ChainView } from '../../../../pipelines/tables/chain-view.js'
import type { BlockRow } from './blocks.js'
import { blockKey } from './point-keys.js'
import type { Tables } from './tables.js'

/** More blocks are read by ranges, with only the columns that each caller needs. */
export const MAX_LOOKED_UP = 100

/**
 * Returns the blocks of a view from a height up to its tip, lowest first, if they are few: callers in one turn share a query.
 * Blocks without a row are left out.
 * @returns undefined if there are many, or a block is final, so that the view does not have its hash.
 * @throws DatabaseUnavailable.
 */
export async function newBlocks(
  tables: Pick<Tables, 'blocks'>,
  view: ChainView,
  from: number,
): Promise<BlockRow[] | undefined> {
  const { tipHeight } = view.head
  if (tipHeight - from >= MAX_LOOKED_UP) return undefined
  const keys: string[] = []
  for (let height = from; height <= tipHeight; height++) {
    const hash = view.hashAt(height)
    if (hash === undefined) return undefined
    keys.push(blockKey(height, hash))
  }
  const rows = keys.length === 0 ? new Map<string, BlockRow>() : await tables.blocks.getAll(keys)
  return keys.map((key) => rows.get(key)).filter((row) => row !== undefined)
}
