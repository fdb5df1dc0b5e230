/** The last heartbeat of the poller that the materializer has applied. */
export interface AppliedHeartbeat {
  /** Unix milliseconds of the poller's clock. */
  readonly timeMs: number
  readonly nodeHeight: number
  readonly nodeHash: string
  readonly pollIntervalMs: number
  /** Unix milliseconds of the materializer's clock. */
  readonly appliedMs: number
}

export interface IndexerFigures {
  readonly indexerStatus: 'live' | 'syncing' | 'stalled'
  /** -1 before any heartbeat. */
  readonly nodeHeight: number
  readonly tipMatch: boolean
  readonly lastReconciledAt: string
}

/** Polls without an applied heartbeat after which the indexer counts as dead. */
const STALLED_AFTER_POLLS = 5
/** Heartbeats are passed on four times a second where there is nothing else to do: with shorter polls it is not 5 of them. */
const STALLED_AFTER_MS = 1_000

/**
 * Tells a stalled chain (live, tipMatch, old tip), an indexer behind (syncing) and a dead one (stalled) apart.
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
  // A head may be a moment ahead of the heartbeat that tells its height: that is not behind.
  const behind = tip.height < nodeHeight || (tip.height === nodeHeight && !tipMatch)
  const stalled = now - appliedMs >= Math.max(STALLED_AFTER_MS, STALLED_AFTER_POLLS * pollIntervalMs)
  return {
    indexerStatus: stalled ? 'stalled' : behind ? 'syncing' : 'live',
    nodeHeight,
    tipMatch,
    lastReconciledAt: new Date(timeMs).toISOString(),
  }
}
