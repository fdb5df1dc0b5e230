/** A heartbeat of the poller that the materializer has applied. */
export interface AppliedHeartbeat {
  /** Unix milliseconds by the poller's clock. */
  readonly timeMs: number
  readonly nodeHeight: number
  readonly nodeHash: string
  readonly pollIntervalMs: number
  /** Unix milliseconds by the materializer's clock. */
  readonly appliedMs: number
}

export interface IndexerFigures {
  readonly indexerStatus: 'live' | 'syncing' | 'stalled'
  /** -1 before the first heartbeat. */
  readonly nodeHeight: number
  readonly tipMatch: boolean
  readonly lastReconciledAt: string
}

/** The number of poll intervals without an applied heartbeat after which the indexer is stalled. */
const STALLED_AFTER_POLLS = 5
/** The lower bound of that time: the materializer forwards only four heartbeats per second, however often the poller polls. */
const STALLED_AFTER_MS = 1_000

/** Returns the time in Unix milliseconds from which on the indexer is stalled if no further heartbeat is applied. */
export function stalledFromMs({
  appliedMs,
  pollIntervalMs,
}: Pick<AppliedHeartbeat, 'appliedMs' | 'pollIntervalMs'>): number {
  return appliedMs + Math.max(STALLED_AFTER_MS, STALLED_AFTER_POLLS * pollIntervalMs)
}

/**
 * Returns the status of the indexer. Distinguishes a chain without new blocks (live, tipMatch, old tip), an indexer that is
 * behind (syncing), and one that has stopped (stalled).
 * @param now unix milliseconds.
 */
export function indexerFigures(
  tip: { readonly height: number; readonly tipHash: string },
  heartbeat: AppliedHeartbeat | undefined,
  now: number,
): IndexerFigures {
  if (heartbeat === undefined) {
    const lastReconciledAt = new Date(0).toISOString()
    return { indexerStatus: 'stalled', nodeHeight: -1, tipMatch: false, lastReconciledAt }
  }
  const { nodeHeight, nodeHash, pollIntervalMs, appliedMs, timeMs } = heartbeat
  const tipMatch = tip.height === nodeHeight && tip.tipHash === nodeHash
  // A head may briefly be ahead of the heartbeat that contains its height; that is not behind.
  const behind = tip.height < nodeHeight || (tip.height === nodeHeight && !tipMatch)
  const stalled = now >= stalledFromMs({ appliedMs, pollIntervalMs })
  return {
    indexerStatus: stalled ? 'stalled' : behind ? 'syncing' : 'live',
    nodeHeight,
    tipMatch,
    lastReconciledAt: new Date(timeMs).toISOString(),
  }
}
