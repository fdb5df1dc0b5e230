import type { NodeProgress } from '../state/indexer-status.js'
import type { ChainState } from '../state/state.js'

/** The progress of an index that is too far behind to report absence. */
export interface Syncing {
  /** -1 for an empty index. */
  readonly indexedHeight: number
  /** Null if it is not known. */
  readonly nodeHeight: number | null
}

/** The maximum lag, in blocks, of an index that was once level. Allows for blocks that arrive in quick succession. */
const MAX_BLOCKS_BEHIND = 6

/**
 * Determines whether a missing object may exist in blocks that the index has not reached yet. While the node downloads its chain for
 * the first time, any object may: the node itself lacks blocks, and at first even their headers.
 * @param node the newest known progress of the node, undefined for none.
 * @param from the height from which on an index would contain the object.
 * @returns the progress of the index; undefined if the object does not exist.
 */
export function syncing(
  { height, view }: Pick<ChainState, 'height' | 'view'>,
  node: NodeProgress | undefined,
  from: number,
): Syncing | undefined {
  const progress = syncingProgress({ height }, node)
  if (node?.isDownloading === true) return progress
  const { nodeHeight } = progress
  const hasReached = view?.head.reached === true
  const isLevel =
    nodeHeight === null ? hasReached : nodeHeight - height <= (hasReached ? MAX_BLOCKS_BEHIND : 0)
  if (isLevel || from > (nodeHeight ?? Number.MAX_SAFE_INTEGER)) return undefined
  return progress
}

/** Returns the progress of an index towards its node, or towards the headers of a node that downloads its blocks. */
export function syncingProgress(
  { height: indexedHeight }: Pick<ChainState, 'height'>,
  node: NodeProgress | undefined,
): Syncing {
  if (node === undefined) return { indexedHeight, nodeHeight: null }
  const { nodeHeight, headerHeight = -1, isDownloading } = node
  return {
    indexedHeight,
    nodeHeight: isDownloading === true ? Math.max(nodeHeight, headerHeight) : nodeHeight,
  }
}
