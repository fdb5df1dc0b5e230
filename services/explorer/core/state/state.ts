import type { Network } from '../../../../pipelines/chain/networks.js'
import type { ChainView } from '../../../../pipelines/tables/chain-view.js'
import { type Overlay, Mempool } from '../mempool/mempool.js'
import { RecentDrops } from '../mempool/recent-drops.js'
import type { BlockRow } from '../tables/blocks.js'
import { CanonicalBlocks } from '../tables/canonical-blocks.js'
import { type Change, NOTHING } from './change.js'
import type { Days } from './days.js'
import type { RecentBlocks } from './recent-blocks.js'
import {
  type AppliedHeartbeat,
  type IndexerFigures,
  indexerFigures,
  Lateness,
  type NodeProgress,
  patienceMs,
  statusUntilMs,
} from './indexer-status.js'
import type { CancelSignal } from '../tables/cancellation.js'

/** The state of the chain as of one head. Immutable. */
export interface ChainState {
  /** The view of the head's chain; undefined before the first head. */
  readonly view: ChainView | undefined
  /** Position of the head in topic `chain`; -1 before the first. */
  readonly position: number
  /** The number of the newest writer before the head was read: answers from this state are valid while no newer one exists. */
  readonly fence: bigint
  readonly network: Network | undefined
  /** Height of the tip; -1 if the chain has no blocks. */
  readonly height: number
  readonly tipHash: string
  readonly tip: BlockRow | undefined
  /** The number of reorganisations up to this head, inclusive. */
  readonly reorgs: number
  /** Hash and time of every block. */
  readonly blocks: CanonicalBlocks
  readonly recent: RecentBlocks
  readonly days: Days
  /** The state of the whole chain, if this is its state as of an earlier block; see `chainAt`. */
  readonly present?: ChainState
}

export const NO_CHAIN: ChainState = {
  view: undefined,
  position: -1,
  fence: 0n,
  network: undefined,
  height: -1,
  tipHash: '',
  tip: undefined,
  reorgs: 0,
  blocks: CanonicalBlocks.NONE,
  recent: [],
  days: [],
}

/** Returns whether a chain has Dilithium signatures; true before it is known. */
export function hasDilithium({ network }: Pick<ChainState, 'network'>): boolean {
  return network === undefined || network.dilithium !== undefined
}

/** The fee rates that the node requires, in base units per 1000 virtual bytes. */
export interface RelayFees {
  /** The lowest rate that enters the node's mempool now. */
  readonly mempoolMin: bigint
  /** The lowest rate that the node relays; undefined if the node does not report it. */
  readonly minRelay?: bigint | undefined
  /** The rate that a replacement must pay in addition; undefined if the node does not report it. */
  readonly incremental?: bigint | undefined
}

/** The progress of the node in a heartbeat of the poller; the time is in unix milliseconds by the poller's clock. */
export type SeenNode = NodeProgress & Pick<AppliedHeartbeat, 'timeMs' | 'pollIntervalMs'>

/**
 * The state that answers are computed from: the chain of the adopted head, the mempool and the last heartbeat. Chain and mempool
 * change together in one turn of the event loop.
 */
export class State {
  readonly mempool = new Mempool((touched) => {
    this.#report({ kind: 'mempool', touched })
  })
  /** The transactions that left the mempool last. */
  readonly drops = new RecentDrops()
  readonly #watchers = new Set<(change: Change) => void>()
  #chain: ChainState = NO_CHAIN
  #chainLoaded = false
  #mempoolLoaded = false
  /** Callbacks of `until`, each of which checks its condition. */
  readonly #waiting = new Set<() => void>()
  #heartbeat: AppliedHeartbeat | undefined
  #relayFees: RelayFees | undefined
  readonly #lateness = new Lateness()
  /** The poller's last heartbeat in the log, which the materializer may not have applied yet. */
  nodeSeen: SeenNode | undefined
  /** False if the log could not be read at the last attempt. */
  isLogReadable = true
  /** The reason why the materializer has stopped, for operators; undefined while it works. */
  alert: string | undefined
  /** The damage of the log: none, being repaired by the poller (`healing`), or not repairable by it (`refused`). */
  logDamage: 'none' | 'healing' | 'refused' = 'none'
  /** The number of times that the log became damaged since the start. */
  logDamages = 0

  get chain(): ChainState {
    return this.#chain
  }

  /** True after head and mempool were loaded once; nothing can be answered before. */
  get ready(): boolean {
    return this.#chainLoaded && this.#mempoolLoaded
  }

  get chainLoaded(): boolean {
    return this.#chainLoaded
  }

  /** The newest heartbeat that the materializer has applied. */
  get heartbeat(): AppliedHeartbeat | undefined {
    return this.#heartbeat
  }

  set heartbeat(heartbeat: AppliedHeartbeat | undefined) {
    this.#heartbeat = heartbeat
    this.#noteLateness()
    this.#report({ kind: 'heartbeat', touched: NOTHING })
  }

  /** The fee rates that the node requires; undefined before the first heartbeat with them. */
  get relayFees(): RelayFees | undefined {
    return this.#relayFees
  }

  set relayFees(fees: RelayFees | undefined) {
    const before = this.#relayFees
    this.#relayFees = fees
    const isSame =
      fees?.mempoolMin === before?.mempoolMin &&
      fees?.minRelay === before?.minRelay &&
      fees?.incremental === before?.incremental
    if (!isSame) this.#report({ kind: 'mempool', touched: NOTHING })
  }

  /** Calls back at each change of the state, in the turn in which it happens. */
  watch(watcher: (change: Change) => void): void {
    this.#watchers.add(watcher)
  }

  /** The node's progress in the newest received heartbeat, applied or not; undefined before the first. */
  get node(): NodeProgress | undefined {
    const [applied, newest] = [this.heartbeat, this.nodeSeen]
    return newest !== undefined && (applied === undefined || newest.timeMs > applied.timeMs)
      ? newest
      : applied
  }

  /** The node's height in the newest received heartbeat; undefined before the first. */
  get nodeHeight(): number | undefined {
    return this.node?.nodeHeight
  }

  /** Returns the current status of the indexer. */
  indexer(): IndexerFigures {
    return indexerFigures(this.#chain, this.#heartbeat, this.#lateness.sinceMs, Date.now())
  }

  /** The time in Unix milliseconds at which the status of the indexer changes without an event. */
  get indexerUntilMs(): number {
    return statusUntilMs(this.#heartbeat, this.#lateness.sinceMs, Date.now())
  }

  /** True if the poller has written no heartbeat for too long, whether the materializer applies them or not. */
  get isSourceSilent(): boolean {
    const newest = [this.#heartbeat, this.nodeSeen].filter((each) => each !== undefined)
    return newest.every((each) => Date.now() >= each.timeMs + patienceMs(each))
  }

  /** Reports that the trouble of the explorer has changed, see `Condition`. */
  conditionChanged(): void {
    this.#report({ kind: 'condition', touched: NOTHING })
  }

  #noteLateness(): void {
    if (this.#heartbeat !== undefined) this.#lateness.note(this.#chain, this.#heartbeat, Date.now())
  }

  get isMempoolLoaded(): boolean {
    return this.#mempoolLoaded
  }

  mempoolLoaded(): void {
    this.#mempoolLoaded = true
    this.#wake()
  }

  /**
   * Adopts the state of a head, together with its overlays of the mempool.
   * @param touched the hashes that the head touches, see `Change`; undefined if they are not known.
   */
  adopt(chain: ChainState, overlays: readonly Overlay[] = [], touched?: ReadonlySet<string>): void {
    this.#chain = chain
    this.#chainLoaded = true
    this.#noteLateness()
    this.#report({ kind: 'head', touched })
    if (overlays.length > 0) this.mempool.advance(...overlays)
    this.#wake()
  }

  /** Resolves to true when the condition holds. After the timeout, or when the signal aborts, resolves to its current value. */
  until(isDone: () => boolean, timeoutMs?: number, signal?: CancelSignal): Promise<boolean> {
    if (isDone()) return Promise.resolve(true)
    if (signal?.aborted === true) return Promise.resolve(false)
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        this.#waiting.delete(check)
        resolve(isDone())
      }
      const check = (): void => {
        if (isDone()) end()
      }
      const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs)
      signal?.addEventListener('abort', end)
      this.#waiting.add(check)
    })
  }

  #report(change: Change): void {
    for (const watcher of this.#watchers) watcher(change)
  }

  #wake(): void {
    for (const check of this.#waiting) check()
  }
}
