import { LRUCache } from 'lru-cache'
import type { BlockId } from '../../../../pipelines/chain/block.js'
import type { Definitions } from '../definitions/definitions.js'
import { whaleAlerts } from './channels.js'
import type { Feed } from './feed.js'
import type { ShownTx } from '../mempool/shown-tx.js'
import type { WhaleAlert } from '../reads/shapes.js'
import { confirmedAlerts, type Naming, unconfirmedAlert } from '../reads/mempool/whale-rows.js'
import type { State } from '../state/state.js'
import { blocksBetween } from '../tables/blocks.js'
import type { Tables } from '../tables/tables.js'
import type { BlockContents } from '../tables/transactions.js'

export interface WhaleWatchParts {
  readonly feed: Feed
  readonly state: State
  readonly tables: Tables
  readonly definitions: Pick<Definitions, 'labels'>
  /** Transactions that move more than this, in base units, are published. */
  readonly threshold: bigint
}

const keyOf = ({ height, blockTag }: { readonly height: number; readonly blockTag: number }): string =>
  `${String(height)} ${String(blockTag)}`

/**
 * Publishes each transaction that moves more than the threshold once, when it is first seen in the mempool or in a block.
 * Transactions that were there when the explorer started are not published.
 */
export class WhaleWatch {
  readonly #parts: WhaleWatchParts
  readonly #published = new LRUCache<string, true>({ max: whaleAlerts.numbering.remembered })

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
      if (state.isMempoolLoaded) feed.announce(whaleAlerts.name, tx.txid, unconfirmedAlert(tx, naming))
    }
  }

  /** Returns the alerts of blocks, to be published when their head is adopted. @throws DatabaseUnavailable. */
  async alertsOf(blocks: readonly BlockId[], tables: Tables, contents: BlockContents): Promise<WhaleAlert[]> {
    const { threshold } = this.#parts
    const naming = this.#naming()
    if (naming === undefined || blocks.length === 0) return []
    const located = await contents.whales(threshold, blocks)
    if (located.length === 0) return []
    const heights = located.map(({ height }) => height)
    const rows = await blocksBetween(tables.unchecked, Math.min(...heights), Math.max(...heights))
    const times = new Map(rows.map((row) => [keyOf(row), row.time]))
    return confirmedAlerts(located, tables, (each) => times.get(keyOf(each)) ?? 0, naming)
  }

  publish(alerts: readonly WhaleAlert[]): void {
    for (const alert of alerts)
      if (this.#isFirst(alert.txid)) this.#parts.feed.announce(whaleAlerts.name, alert.txid, alert)
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
