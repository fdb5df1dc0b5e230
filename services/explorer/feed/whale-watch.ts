import { LRUCache } from 'lru-cache'
import type { BlockId } from '../../../pipelines/chain/block.js'
import type { Definitions } from '../definitions/definitions.js'
import type { Feed } from './feed.js'
import type { ShownTx } from '../mempool/shown-tx.js'
import type { WhaleAlert } from '../reads/shapes.js'
import { confirmedAlerts, type Naming, unconfirmedAlert } from '../reads/mempool/whale-rows.js'
import type { State } from '../state/state.js'
import { type Tables, whalesIn } from '../tables/tables.js'

export interface WhaleWatchParts {
  readonly feed: Feed
  readonly state: State
  readonly tables: Tables
  readonly definitions: Pick<Definitions, 'labels'>
  /** Transactions that move more than this, in base units, are published. */
  readonly threshold: bigint
}

/** The number of published transactions to remember: far more than there are between two sightings of one. */
const MAX_PUBLISHED = 50_000

/**
 * Publishes each transaction that moves more than the threshold once, when it is first seen in the mempool or in a block.
 * Transactions that were there when the explorer started are not published.
 */
export class WhaleWatch {
  readonly #parts: WhaleWatchParts
  readonly #published = new LRUCache<string, true>({ max: MAX_PUBLISHED })

  constructor(parts: WhaleWatchParts) {
    this.#parts = parts
  }

  /** Publishes alerts of unconfirmed transactions. Call in the turn in which they enter the mempool or are resolved. */
  inMempool(txs: readonly ShownTx[]): void {
    const { feed, state, threshold } = this.#parts
    const naming = this.#naming()
    if (naming === undefined) return
    for (const tx of txs) {
      if (tx.moved === undefined || tx.moved <= threshold || !this.#isFirst(tx.txid)) continue
      // Until the mempool is loaded, its transactions count as seen before the start.
      if (state.isMempoolLoaded) feed.publish('whale-alerts', unconfirmedAlert(tx, naming))
    }
  }

  /** Returns the alerts of blocks, to be published when their head is adopted. @throws DatabaseUnavailable. */
  async alertsOf(blocks: readonly BlockId[], tables = this.#parts.tables): Promise<WhaleAlert[]> {
    const { threshold } = this.#parts
    const naming = this.#naming()
    if (naming === undefined || blocks.length === 0) return []
    return confirmedAlerts(await whalesIn(tables, threshold, blocks), { tables }, naming)
  }

  publish(alerts: readonly WhaleAlert[]): void {
    for (const alert of alerts) if (this.#isFirst(alert.txid)) this.#parts.feed.publish('whale-alerts', alert)
  }

  #isFirst(txid: string): boolean {
    if (this.#published.has(txid)) return false
    this.#published.set(txid, true)
    return true
  }

  #naming(): Naming | undefined {
    const { state, definitions } = this.#parts
    const { network } = state.chain
    return network === undefined ? undefined : { network, labels: definitions.labels }
  }
}
