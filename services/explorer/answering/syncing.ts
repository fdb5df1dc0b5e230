import type { ChainState } from '../state/state.js'

/** How far the index is, where that is not far enough to say what there is not. */
export interface Syncing {
  /** -1 for none. */
  readonly indexedHeight: number
  /** Null where it is not known. */
  readonly nodeHeight: number | null
}

/** An index that was level once is believed as long as it is no further behind than blocks that come in quick succession. */
const MOST_BLOCKS_BEHIND = 6

/**
 * Whether "there is none" may only mean that the index has not got there.
 * @param nodeHeight the newest that is known, undefined for none.
 * @param from the height from which on an index would have what was asked for.
 * @returns undefined where there is none indeed.
 */
export function syncing(
  { height, view }: Pick<ChainState, 'height' | 'view'>,
  nodeHeight: number | undefined,
  from: number,
): Syncing | undefined {
  const hasReached = view?.head.reached === true
  const isLevel =
    nodeHeight === undefined ? hasReached : nodeHeight - height <= (hasReached ? MOST_BLOCKS_BEHIND : 0)
  if (isLevel || from > (nodeHeight ?? Number.MAX_SAFE_INTEGER)) return undefined
  return { indexedHeight: height, nodeHeight: nodeHeight ?? null }
}
