import { hexOf } from '../../../../pipelines/chain/hash.js'
import type { Head } from '../../../../pipelines/tables/head.js'
import type { HeadCommitted } from '../../../../proto/gen/headwater/events/v1/events_pb.js'

/** More heads are read from the table faster than they are kept. */
const MAX_HEADS = 100

/** Heads that topic `committed` contains completely, so that they need not be read from the tables. */
export class AnnouncedHeads {
  #heads: Head[] = []

  /** Adds an announced head. One that is incomplete, and those before it, must be read from the tables. */
  add(event: HeadCommitted): void {
    const head = headOf(event)
    if (head === undefined || this.#heads.length >= MAX_HEADS) this.#heads = []
    if (head !== undefined) this.#heads.push(head)
  }

  /**
   * Removes all heads.
   * @param current the head of the state, which is one of this writer or an earlier one.
   * @param writer the number of the newest writer that is known: the heads of others may be invalid.
   * @returns those that follow the current head without a gap, oldest first; none if any of them does not.
   */
  takeAfter(current: Pick<Head, 'position' | 'writtenAt'>, writer: bigint): Head[] {
    const heads = this.#heads.filter((head) => isAfter(head, current))
    this.#heads = []
    let before = current
    for (const head of heads) {
      if (head.previous !== before.position || !isAfter(head, before) || head.writer !== writer) return []
      before = head
    }
    return heads
  }
}

/** Returns whether a head is later than another head; a head that replaces another head has its position. */
function isAfter(head: Head, before: Pick<Head, 'position' | 'writtenAt'>): boolean {
  return (
    head.position > before.position ||
    (head.position === before.position && head.writtenAt > before.writtenAt)
  )
}

function headOf({ position, tipHeight, tipHash, row }: HeadCommitted): Head | undefined {
  if (row === undefined) return undefined
  return {
    position: Number(position),
    previous: Number(row.previous),
    chain: row.chain,
    tipHeight,
    tipHash: hexOf(tipHash),
    finalHeight: Number(row.finalHeight),
    epoch: row.epoch,
    sequence: row.sequence,
    disconnected: row.disconnected.map(hexOf),
    connected: row.connected.map(hexOf),
    blocksBefore: Number(row.blocksBefore),
    reorgsBefore: Number(row.reorgsBefore),
    writtenAt: Number(row.writtenAtMs),
    writer: row.writer,
    reached: row.reached,
  }
}
