import type { Heartbeat } from '../../../../proto/gen/headwater/events/v1/events_pb.js'

/** The progress of a node. */
export interface NodeProgress {
  readonly nodeHeight: number
  /** Height of the best header that the node has; undefined if it is not known. */
  readonly headerHeight?: number | undefined
  /** True while the node downloads its chain for the first time. */
  readonly isDownloading?: boolean
  /** Fields that its replies lack and other versions have, each with its consequence. */
  readonly gaps?: readonly string[]
}

/** Returns the progress of the node in a heartbeat. */
export function nodeProgress({ nodeHeight, headerHeight, initialDownload, gaps }: Heartbeat): NodeProgress {
  return { nodeHeight, headerHeight, isDownloading: initialDownload, gaps }
}

/** A heartbeat of the poller that the materializer has applied. */
export interface AppliedHeartbeat extends NodeProgress {
  /** Unix milliseconds by the poller's clock. */
  readonly timeMs: number
  readonly nodeHash: string
  readonly pollIntervalMs: number
  /** Unix milliseconds by the materializer's clock. */
  readonly appliedMs: number
}

export interface IndexerFigures {
  readonly indexerStatus: 'live' | 'syncing' | 'node_syncing' | 'stalled'
  /** -1 before the first heartbeat. */
  readonly nodeHeight: number
  /** Height of the best header that the node has; -1 if it is not known. */
  readonly nodeHeaders: number
  readonly tipMatch: boolean
  readonly lastReconciledAt: string
}

/** The newest block of the index. */
interface Tip {
  readonly height: number
  readonly tipHash: string
}

/** The number of poll intervals without an applied heartbeat after which the indexer is stalled. */
const STALLED_AFTER_POLLS = 5
/** The lower bound of that time: the materializer forwards only four heartbeats per second, however often the poller polls. */
const STALLED_AFTER_MS = 1_000
/** An index that is more blocks behind is syncing at once: it does not report absence either. */
const MAX_BLOCKS_LATE = 6

/** Returns the time that a heartbeat, or a block that it names, may take until the indexer counts as stalled or behind. */
export const patienceMs = ({ pollIntervalMs }: Pick<AppliedHeartbeat, 'pollIntervalMs'>): number =>
  Math.max(STALLED_AFTER_MS, STALLED_AFTER_POLLS * pollIntervalMs)

/**
 * Measures for how long the node has had a block that the index lacks. A heartbeat overtakes the head of its block, at every second
 * block of a fast chain: an index that is level is not behind for that moment.
 */
export class Lateness {
  /** The tips of the node that the index has not reached, oldest first. */
  #missing: { readonly height: number; readonly hash: string; readonly sinceMs: number }[] = []
  #wasLevel = false

  /** Notes the state after the tip or the heartbeat has changed. @param now unix milliseconds. */
  note(tip: Tip, { nodeHeight: height, nodeHash: hash }: AppliedHeartbeat, now: number): void {
    if (!isBehind(tip, height, hash)) {
      this.#wasLevel = true
      this.#missing = []
      return
    }
    this.#missing = this.#missing.filter((each) => isBehind(tip, each.height, each.hash))
    // Of a node that is far ahead, the oldest ones are enough.
    if (this.#missing.length <= MAX_BLOCKS_LATE && this.#missing.at(-1)?.hash !== hash)
      this.#missing.push({ height, hash, sinceMs: now })
  }

  /** The time since when a block is missing, in unix milliseconds: 0 until the index was level once, undefined while it is level. */
  get sinceMs(): number | undefined {
    const [first] = this.#missing
    return first !== undefined && !this.#wasLevel ? 0 : first?.sinceMs
  }
}

const isBehind = (tip: Tip, height: number, hash: string): boolean =>
  // A head may briefly be ahead of the heartbeat that contains its height; that is not behind.
  tip.height < height || (tip.height === height && tip.tipHash !== hash)

/**
 * Returns the status of the indexer. Distinguishes a chain without new blocks (live, tipMatch, old tip), an indexer that is
 * behind (syncing), a node that downloads its chain for the first time (node_syncing), whose newest block is an old one, and an
 * indexer that has stopped (stalled).
 * @param lateSinceMs of `Lateness`.
 * @param now unix milliseconds.
 */
export function indexerFigures(
  tip: Tip,
  heartbeat: AppliedHeartbeat | undefined,
  lateSinceMs: number | undefined,
  now: number,
): IndexerFigures {
  if (heartbeat === undefined) {
    const lastReconciledAt = new Date(0).toISOString()
    return { indexerStatus: 'stalled', nodeHeight: -1, nodeHeaders: -1, tipMatch: false, lastReconciledAt }
  }
  const { nodeHeight, headerHeight: nodeHeaders = -1, isDownloading, nodeHash, appliedMs, timeMs } = heartbeat
  const isLate =
    nodeHeight - tip.height > MAX_BLOCKS_LATE ||
    (lateSinceMs !== undefined && now >= lateSinceMs + patienceMs(heartbeat))
  const isStalled = now >= appliedMs + patienceMs(heartbeat)
  return {
    indexerStatus: isStalled
      ? 'stalled'
      : isDownloading === true
        ? 'node_syncing'
        : isLate
          ? 'syncing'
          : 'live',
    nodeHeight,
    nodeHeaders,
    tipMatch: tip.height === nodeHeight && tip.tipHash === nodeHash,
    lastReconciledAt: new Date(timeMs).toISOString(),
  }
}

/**
 * Returns the time in Unix milliseconds at which the status changes if neither a head nor a heartbeat arrives; infinite if it does
 * not change.
 */
export function statusUntilMs(
  heartbeat: AppliedHeartbeat | undefined,
  lateSinceMs: number | undefined,
  now: number,
): number {
  if (heartbeat === undefined) return Number.POSITIVE_INFINITY
  const from = [heartbeat.appliedMs, lateSinceMs ?? Number.POSITIVE_INFINITY]
  return Math.min(...from.map((ms) => ms + patienceMs(heartbeat)).filter((ms) => ms > now))
}
