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
 * Determines whether a missing object may exist in blocks that the index has not reached yet.
 * @param nodeHeight the newest known height of the node, undefined for none.
 * @param from the height from which on an index would contain the object.
 * @returns the progress of the index; undefined if the object does not exist.
 */
export function syncing(
  { height, view }: Pick<ChainState, 'height' | 'view'>,
  nodeHeight: number | undefined,
  from: number,
): Syncing | undefined {
  const hasReached = view?.head.reached === true
  const isLevel =
    nodeHeight === undefined ? hasReached : nodeHeight - height <= (hasReached ? MAX_BLOCKS_BEHIND : 0)
  if (isLevel || from > (nodeHeight ?? Number.MAX_SAFE_INTEGER)) return undefined
  return { indexedHeight: height, nodeHeight: nodeHeight ?? null }
}
