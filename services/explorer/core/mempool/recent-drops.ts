import { PoolLeft_Reason } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import type { MempoolDelta } from '../../../../pipelines/mempool/mempool-events.js'

/** A place in topic `node`. Places are ordered by these, one after the other. */
export interface DropPlace {
  /** Time at which the event was appended to the log, in Unix milliseconds. */
  readonly leftAt: number
  /** Position of the event. */
  readonly position: number
  /** Index among the transactions that left by the event. */
  readonly item: number
}

/** A transaction that left the mempool without being in a block. */
export interface DroppedTx extends DropPlace {
  readonly txid: string
  /** A value of `PoolLeft_Reason`. */
  readonly reason: number
  /** The transaction that replaced it; undefined if it left for another reason. */
  readonly replacedBy: string | undefined
  /** Base units. */
  readonly fee: bigint
  readonly vsize: number
  /** Unix seconds; undefined if it is not known. */
  readonly firstSeen: number | undefined
  /** True if it, or an ancestor in the mempool, signalled that it may be replaced; undefined if it is not known. */
  readonly signalled: boolean | undefined
}

interface RecentDrop extends DroppedTx {
  readonly raw: Buffer
}

/** The maximum size of the transactions that are kept here, and what one takes beside its bytes. */
const MAX_BYTES = 16 * 2 ** 20
const ENTRY_BYTES = 600
/** The maximum number of first-seen times: those of some ten blocks. */
const MAX_SEEN = 50_000

/** Compares places. */
export function byPlace(one: DropPlace, other: DropPlace): number {
  return one.leftAt - other.leftAt || one.position - other.position || one.item - other.item
}

/**
 * The transactions that left the mempool last, in memory: an explorer applies an event of the mempool before the materializer has written
 * it to the tables. Bounded; what is older is in the tables.
 */
export class RecentDrops {
  /** In the order in which they left. */
  readonly #drops = new Set<RecentDrop>()
  /** The last drop of each transaction. */
  readonly #byTxid = new Map<string, RecentDrop>()
  readonly #byReplacer = new Map<string, Set<RecentDrop>>()
  readonly #firstSeen = new Map<string, number>()
  #bytes = 0
  #reached: DropPlace = { leftAt: -1, position: -1, item: -1 }

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** The place up to which the mempool has been applied. */
  get reached(): DropPlace {
    return this.#reached
  }

  /** Notes that the mempool has been applied up to an event. */
  reach(leftAt: number, position: number): void {
    const place = { leftAt, position, item: Number.MAX_SAFE_INTEGER }
    if (byPlace(place, this.#reached) > 0) this.#reached = place
  }

  /** Adds the transactions that left by an event. */
  note({ time: leftAt, position, left }: Pick<MempoolDelta, 'time' | 'position' | 'left'>): void {
    this.reach(leftAt, position)
    for (const [item, removal] of left.entries()) {
      const { txid, reason, by, fee, vsize, firstSeen, signalled, raw } = removal
      if (reason === PoolLeft_Reason.CONFIRMED) {
        if (firstSeen !== undefined) this.#noteSeen(txid, firstSeen)
        continue
      }
      const replacedBy = reason === PoolLeft_Reason.REPLACED ? by : undefined
      const place = { leftAt, position, item }
      this.#add({ ...place, txid, reason, replacedBy, fee, vsize, firstSeen, signalled, raw })
    }
    for (const drop of this.#drops) {
      if (this.#bytes <= this.maxBytes) break
      this.#remove(drop)
    }
  }

  /** Returns the last drop of a transaction. */
  get(txid: string): RecentDrop | undefined {
    return this.#byTxid.get(txid)
  }

  /** Returns the transactions that another one replaced. */
  replacedBy(txid: string): readonly RecentDrop[] {
    return [...(this.#byReplacer.get(txid) ?? [])]
  }

  /** Returns all drops, the last one first. */
  newest(): readonly RecentDrop[] {
    return [...this.#drops].reverse()
  }

  /** Returns when a confirmed transaction was first seen, in Unix seconds. */
  firstSeen(txid: string): number | undefined {
    return this.#firstSeen.get(txid)
  }

  #noteSeen(txid: string, firstSeen: number): void {
    this.#firstSeen.set(txid, Math.min(firstSeen, this.#firstSeen.get(txid) ?? firstSeen))
    for (const [oldest] of this.#firstSeen) {
      if (this.#firstSeen.size <= MAX_SEEN) break
      this.#firstSeen.delete(oldest)
    }
  }

  #add(drop: RecentDrop): void {
    this.#drops.add(drop)
    this.#byTxid.set(drop.txid, drop)
    this.#bytes += drop.raw.length + ENTRY_BYTES
    if (drop.replacedBy === undefined) return
    const replaced = this.#byReplacer.get(drop.replacedBy)
    if (replaced === undefined) this.#byReplacer.set(drop.replacedBy, new Set([drop]))
    else replaced.add(drop)
  }

  #remove(drop: RecentDrop): void {
    this.#drops.delete(drop)
    this.#bytes -= drop.raw.length + ENTRY_BYTES
    if (this.#byTxid.get(drop.txid) === drop) this.#byTxid.delete(drop.txid)
    if (drop.replacedBy === undefined) return
    const replaced = this.#byReplacer.get(drop.replacedBy)
    replaced?.delete(drop)
    if (replaced?.size === 0) this.#byReplacer.delete(drop.replacedBy)
  }
}
