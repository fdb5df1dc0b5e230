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
  /** Base units: what moves more is told. */
  readonly threshold: bigint
}

/** Transactions remembered as told: far more than are between two sightings of one. */
const MOST_PUBLISHED = 50_000

/**
 * Tells each transaction that moves much once, when it is first seen: in the mempool, or in a block. What was there when the
 * explorer began counts as seen.
 */
export class WhaleWatch {
  readonly #parts: WhaleWatchParts
  readonly #published = new LRUCache<string, true>({ max: MOST_PUBLISHED })

  constructor(parts: WhaleWatchParts) {
    this.#parts = parts
  }

  /** Call in the turn in which these are in the mempool, or are known whole there. */
  inMempool(txs: readonly ShownTx[]): void {
    const { feed, state, threshold } = this.#parts
    const naming = this.#naming()
    if (naming === undefined) return
    for (const tx of txs) {
      if (tx.moved === undefined || tx.moved <= threshold || !this.#isFirst(tx.txid)) continue
      // Until the mempool is loaded nobody could have seen it come.
      if (state.isMempoolLoaded) feed.publish('whale-alerts', unconfirmedAlert(tx, naming))
    }
  }

  /** What these blocks would make known; tell it when their head is adopted. @throws DatabaseUnavailable. */
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
