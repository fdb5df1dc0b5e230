import { PoolLeft_Reason } from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { MempoolRemoval, NodeRecord } from '../mempool/mempool-events.js'
import type { Database } from '../tables/clickhouse.js'
import { DROPPED_KEYS, DROPPED_TXS, FIRST_SEEN, NO_TXID, prefixOf } from '../tables/mempool/tables.js'
import { EncodedRows } from '../tables/rowbinary.js'
import type { Book } from './book.js'

/** The approximate size of a row without its transaction. */
const ROW_BYTES = 120
/** The values of `dropped_txs.signalled`. */
const SIGNALLED = { no: 0, yes: 1, unknown: 2 } as const

/** The rows that have not been written. */
interface Rows {
  readonly txs: EncodedRows<typeof DROPPED_TXS.columns>
  readonly keys: EncodedRows<typeof DROPPED_KEYS.columns>
  readonly seen: EncodedRows<typeof FIRST_SEEN.columns>
}

const noRows = (): Rows => ({
  txs: new EncodedRows(DROPPED_TXS),
  keys: new EncodedRows(DROPPED_KEYS),
  seen: new EncodedRows(FIRST_SEEN),
})

/** Records the transactions that leave the mempool: when those of blocks were first seen, and the others as a whole. */
export class DroppedBook implements Book {
  readonly #db: Pick<Database, 'insert'>
  #rows = noRows()
  #bytes = 0

  constructor(db: Pick<Database, 'insert'>) {
    this.#db = db
  }

  get bytes(): number {
    return this.#bytes
  }

  reset(): void {
    this.#rows = noRows()
    this.#bytes = 0
  }

  apply(event: NodeRecord<unknown>, isWritten: boolean): void {
    if (isWritten || event.kind !== 'delta') return
    const { time, position, left } = event.delta
    for (const [item, removal] of left.entries()) {
      if (removal.reason !== PoolLeft_Reason.CONFIRMED) this.#addDropped(removal, { time, position, item })
      else if (removal.firstSeen !== undefined) {
        const { txid, firstSeen } = removal
        this.#rows.seen.add({ txid_prefix: prefixOf(txid), first_seen: firstSeen })
        this.#bytes += ROW_BYTES
      }
    }
  }

  #addDropped(removal: MempoolRemoval, { time, position, item }: Place): void {
    const { txid, reason, by, fee, vsize, firstSeen = 0, signalled, raw } = removal
    const place = { left_at: time, position, item }
    const replaced_by = reason === PoolLeft_Reason.REPLACED ? by : NO_TXID
    this.#rows.txs.add({
      ...place,
      txid,
      reason,
      replaced_by,
      fee,
      vsize,
      first_seen: firstSeen,
      signalled: signalled === undefined ? SIGNALLED.unknown : signalled ? SIGNALLED.yes : SIGNALLED.no,
      raw,
    })
    this.#rows.keys.add({ txid_prefix: prefixOf(txid), is_replacer: false, ...place })
    if (replaced_by !== NO_TXID)
      this.#rows.keys.add({ txid_prefix: prefixOf(replaced_by), is_replacer: true, ...place })
    this.#bytes += ROW_BYTES + raw.length
  }

  async flush(): Promise<void> {
    const { txs, keys, seen } = this.#rows
    this.reset()
    // The keys follow: readers look for rows only by keys that exist.
    await this.#db.insert(txs)
    await Promise.all([this.#db.insert(keys), this.#db.insert(seen)])
  }
}

/** The place of a removal in the log. */
interface Place {
  readonly time: number
  readonly position: number
  readonly item: number
}
