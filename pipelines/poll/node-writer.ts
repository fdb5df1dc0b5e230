import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { NodeEventSchema, PoolLeft_Reason } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { displayBytes } from '../chain/hash.js'
import type { EventLog } from '../log/port.js'
import type { ChainWriter, Target } from './chain-writer.js'
import type { Left, PoolTx } from './pool-delta.js'

type Payload = NonNullable<MessageInitShape<typeof NodeEventSchema>['event']>

/** An event of the pool is cut here. One transaction is let through whatever its size. */
const MAX_EVENT_BYTES = 512 * 1024
/** What an entry takes beside its transaction. */
const ENTRY_BYTES = 60

/** The pen for topic `node`. Each event names the end of topic `chain` at which the thing was seen. */
export class NodeWriter {
  readonly #log: EventLog
  readonly #chain: ChainWriter
  #sequence = 0n

  constructor(log: EventLog, chain: ChainWriter) {
    this.#log = log
    this.#chain = chain
  }

  async heartbeat(timeMs: number, node: Target, pollIntervalMs: number): Promise<void> {
    const value = {
      timeMs: BigInt(timeMs),
      nodeHeight: node.height,
      nodeHash: displayBytes(node.hash),
      pollIntervalMs,
    }
    await this.#append(undefined, [{ case: 'heartbeat', value }])
  }

  /** @returns the position of the snapshot's first part. */
  async snapshot(chainPosition: number, enteredBefore: bigint, txs: Iterable<PoolTx>): Promise<number> {
    const slices = cut([...txs])
    const parts = slices.map((slice, part): Payload => {
      return {
        case: 'poolSnapshot',
        value: { part, parts: slices.length, enteredBefore, entries: slice.map(entry) },
      }
    })
    return (await this.#append(chainPosition, parts)) - parts.length + 1
  }

  /** @returns how many events it took. */
  async delta(
    snapshotPosition: number,
    enteredBefore: bigint,
    change: { readonly entered: readonly PoolTx[]; readonly left: readonly Left[] },
  ): Promise<number> {
    let before = enteredBefore
    const deltas = cut(change.entered).map((slice, i): Payload => {
      const value = {
        snapshotPosition: BigInt(snapshotPosition),
        enteredBefore: before,
        entered: slice.map(entry),
        left: i === 0 ? change.left.map(leaving) : [],
      }
      before += BigInt(slice.length)
      return { case: 'poolDelta', value }
    })
    await this.#append(undefined, deltas)
    return deltas.length
  }

  #append(chainPosition: number | undefined, events: readonly Payload[]): Promise<number> {
    return this.#chain.exclusively(() => {
      const seenAt = BigInt(chainPosition ?? this.#chain.position)
      const values = events.map((event) => {
        const sequence = this.#sequence++
        const fields = { epoch: this.#chain.epoch, sequence, chainPosition: seenAt, event }
        return toBinary(NodeEventSchema, create(NodeEventSchema, fields))
      })
      return this.#log.append('node', values)
    })
  }
}

/** Always at least one slice. */
function cut(txs: readonly PoolTx[]): PoolTx[][] {
  let slice: PoolTx[] = []
  const slices = [slice]
  let bytes = 0
  for (const tx of txs) {
    if (slice.length > 0 && bytes + tx.raw.length + ENTRY_BYTES > MAX_EVENT_BYTES) {
      slice = []
      slices.push(slice)
      bytes = 0
    }
    slice.push(tx)
    bytes += tx.raw.length + ENTRY_BYTES
  }
  return slices
}

function entry({ txid, raw, fee, firstSeen }: PoolTx): {
  txid: Buffer
  raw: Buffer
  fee: bigint
  firstSeen: number
} {
  return { txid: displayBytes(txid), raw, fee, firstSeen }
}

function leaving(left: Left): { txid: Buffer; reason: PoolLeft_Reason; by: Buffer } {
  const txid = displayBytes(left.txid)
  switch (left.reason) {
    case 'confirmed':
      return { txid, reason: PoolLeft_Reason.CONFIRMED, by: displayBytes(left.block) }
    case 'replaced':
      return { txid, reason: PoolLeft_Reason.REPLACED, by: displayBytes(left.by) }
    case 'evicted':
      return { txid, reason: PoolLeft_Reason.EVICTED, by: Buffer.alloc(0) }
  }
}
