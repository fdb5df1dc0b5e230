import type { Network } from '../../../pipelines/chain/networks.js'
import type { ChainView } from '../../../pipelines/tables/chain-view.js'
import type { Upgrade } from '../../../pipelines/tables/migrate.js'
import { type Overlay, Mempool } from '../mempool/mempool.js'
import type { BlockRow } from '../tables/blocks.js'
import type { Days } from './days.js'
import type { RecentBlocks } from './recent-blocks.js'
import { type AppliedHeartbeat, type IndexerFigures, indexerFigures } from './indexer-status.js'

/** The chain as one head shows it; never changes. */
export interface ChainState {
  /** Undefined before the first head. */
  readonly view: ChainView | undefined
  /** Of the head in topic `chain`, -1 for none. */
  readonly position: number
  /** The newest writer before the head was read: answers of this state are true as long as there is no newer one. */
  readonly fence: bigint
  readonly network: Network | undefined
  /** -1 for a chain without blocks. */
  readonly height: number
  readonly tipHash: string
  readonly tip: BlockRow | undefined
  /** Reorganisations up to and with this head. */
  readonly reorgs: number
  readonly recent: RecentBlocks
  readonly days: Days
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
  recent: [],
  days: [],
}

/** The node as a heartbeat of the poller tells of it; the time by the poller's clock, unix milliseconds. */
export type SeenNode = Pick<AppliedHeartbeat, 'timeMs' | 'nodeHeight'>

/** What the explorer holds: the chain of its head, the mempool beside it, the last heartbeat. Changes in one turn, never between. */
export class State {
  readonly mempool = new Mempool()
  #chain: ChainState = NO_CHAIN
  #chainLoaded = false
  #poolLoaded = false
  /** Each looks whether what somebody waits for has come. */
  readonly #waiting = new Set<() => void>()
  #upgrade: Upgrade | undefined
  heartbeat: AppliedHeartbeat | undefined
  /** The poller's last heartbeat in the log, which the materializer may not have applied. */
  nodeSeen: SeenNode | undefined
  /** Why the materializer stands still, in words; undefined while it works. */
  alert: string | undefined
  /** Whether the log is damaged, and whether the poller repairs it. */
  logDamage: 'none' | 'healing' | 'refused' = 'none'
  /** How often damage of the log was reported since the start, each once. */
  logDamages = 0

  get chain(): ChainState {
    return this.#chain
  }

  /** False until head and mempool were read once: nothing can be told before. */
  get ready(): boolean {
    return this.#chainLoaded && this.#poolLoaded
  }

  get chainLoaded(): boolean {
    return this.#chainLoaded
  }

  /** Of the newest heartbeat that is known, applied or not; undefined before any. */
  get nodeHeight(): number | undefined {
    const [applied, seen] = [this.heartbeat, this.nodeSeen]
    return seen !== undefined && (applied === undefined || seen.timeMs > applied.timeMs)
      ? seen.nodeHeight
      : applied?.nodeHeight
  }

  /** How the indexer stands now. */
  indexer(): IndexerFigures {
    return indexerFigures(this.#chain, this.heartbeat, Date.now())
  }

  get isMempoolLoaded(): boolean {
    return this.#poolLoaded
  }

  poolLoaded(): void {
    this.#poolLoaded = true
    this.#wake()
  }

  /** How far the database is on its way to this version's schema; undefined where it has it, or nobody knows. */
  get upgrade(): Upgrade | undefined {
    return this.#upgrade
  }

  upgrades(upgrade: Upgrade | undefined): void {
    this.#upgrade = upgrade
    this.#wake()
  }

  adopt(chain: ChainState, overlays: readonly Overlay[] = []): void {
    this.#chain = chain
    this.#chainLoaded = true
    for (const overlay of overlays) this.mempool.advance(overlay)
    this.#wake()
  }

  /** Resolves true when the condition holds; after the time, or when the signal aborts, whether it does. */
  until(isDone: () => boolean, timeoutMs?: number, signal?: AbortSignal): Promise<boolean> {
    if (isDone()) return Promise.resolve(true)
    if (signal?.aborted === true) return Promise.resolve(false)
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        this.#waiting.delete(look)
        resolve(isDone())
      }
      const look = (): void => {
        if (isDone()) end()
      }
      const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs)
      signal?.addEventListener('abort', end)
      this.#waiting.add(look)
    })
  }

  #wake(): void {
    for (const look of this.#waiting) look()
  }
}
