import { setImmediate } from 'node:timers/promises'
import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import {
  NodeEventSchema,
  type PoolEntrySchema,
  PoolLeft_Reason,
  type PoolLeftSchema,
  type PoolPassedSchema,
  type RelayFeesSchema,
} from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { coinsToBaseUnits } from '../../chain/amount.js'
import { displayBytes } from '../../chain/hash.js'
import type { Network } from '../../chain/networks.js'
import { parseTx, vsizeOf, weightOf } from '../../chain/transaction.js'
import type { EventLog } from '../../log/port.js'
import { messageIn, recordsOf } from '../../log/records.js'
import type { MempoolTx } from '../../mempool/mempool-tx.js'
import { gapsOf } from '../../node/gaps.js'
import { isDownloading } from '../../node/initial-download.js'
import type { NodeChainInfo, NodeMempoolInfo } from '../../node/replies.js'
import { MAX_BATCH_BYTES, type ChainWriter } from '../chain/chain-writer.js'
import { LogMovedError } from '../errors.js'
import type { Cause, Left, Passed } from './delta.js'
import { slicesOf } from '../slices.js'

type Payload = NonNullable<MessageInitShape<typeof NodeEventSchema>['event']>

/** The size at which an event of the mempool is split. */
const MAX_EVENT_BYTES = 512 * 1024
/** The approximate size of an entry without its transaction. */
const ENTRY_BYTES = 60

/** The numbers of transactions that have ever entered and left the mempool. */
export interface Counts {
  readonly entered: bigint
  readonly left: bigint
}

/** Writes topic `node`. Each event contains the position of topic `chain` at which it was observed. */
export class NodeWriter {
  readonly #log: EventLog
  readonly #chain: ChainWriter
  #sequence = 0n
  /** The position of the last event written, undefined before the first. */
  #last: number | undefined
  /** The error that `#check` found. It is kept because a caller may ignore that its heartbeat failed. */
  #moved: LogMovedError | undefined

  constructor(log: EventLog, chain: ChainWriter) {
    this.#log = log
    this.#chain = chain
  }

  async heartbeat(
    timeMs: number,
    info: NodeChainInfo,
    pollIntervalMs: number,
    fees: NodeMempoolInfo,
  ): Promise<void> {
    const value = {
      timeMs: BigInt(timeMs),
      nodeHeight: info.blocks,
      nodeHash: displayBytes(info.bestblockhash),
      pollIntervalMs,
      relayFees: relayFeesOf(fees),
      initialDownload: isDownloading(info),
      gaps: gapsOf(info, fees),
      ...(info.headers === undefined ? {} : { headerHeight: info.headers }),
    }
    await this.#append(undefined, [{ case: 'heartbeat', value }])
  }

  /**
   * Writes a snapshot. A large one is written in several batches, each encoded before it is written, to limit memory. Delivery:
   * readers use the previous snapshot until this one is complete.
   * @returns the position of the snapshot's first part. @throws LogMovedError if another poller wrote between its parts.
   */
  async snapshot(
    chainPosition: number,
    { entered: enteredBefore, left: leftBefore }: Counts,
    txs: Iterable<MempoolTx>,
  ): Promise<number> {
    const slices = [...slicesOf(txs, txBytes, MAX_EVENT_BYTES)]
    const parts = slices.length
    function* payloads(): Generator<Payload> {
      for (const [part, slice] of slices.entries())
        yield {
          case: 'poolSnapshot',
          value: { part, parts, enteredBefore, leftBefore, entries: slice.map(entry) },
        }
    }
    return this.#append(chainPosition, payloads(), parts)
  }

  /**
   * Writes a change of the mempool. A large one is written in several batches; the mempool after each of them is a possible one.
   * @returns the number of events written.
   */
  async delta(snapshotPosition: number, before: Counts, { entered, left, passed }: Change): Promise<number> {
    const { network } = this.#chain.identity
    let { entered: enteredBefore, left: leftBefore } = before
    const all: Part[] = [
      ...left.map((each): Part => ({ kind: 'left', left: leaving(each, network) })),
      ...passed.map((each): Part => ({ kind: 'passed', passed: passing(each) })),
      ...entered.map((tx): Part => ({ kind: 'entered', tx })),
    ]
    const deltas = [...slicesOf(all, partBytes, MAX_EVENT_BYTES)].map((slice): Payload => {
      const value = {
        snapshotPosition: BigInt(snapshotPosition),
        enteredBefore,
        leftBefore,
        left: slice.flatMap((part) => (part.kind === 'left' ? [part.left] : [])),
        passed: slice.flatMap((part) => (part.kind === 'passed' ? [part.passed] : [])),
        entered: slice.flatMap((part) => (part.kind === 'entered' ? [entry(part.tx)] : [])),
      }
      enteredBefore += BigInt(value.passed.length + value.entered.length)
      leftBefore += BigInt(value.left.length + value.passed.length)
      return { case: 'poolDelta', value }
    })
    await this.#append(undefined, deltas)
    return deltas.length
  }

  /**
   * Appends events.
   * @param consecutive the number of events, if their positions must be consecutive.
   * @returns the position of the first one. @throws LogMovedError if they are not consecutive, and as `#check`.
   */
  #append(
    chainPosition: number | undefined,
    events: Iterable<Payload>,
    consecutive?: number,
  ): Promise<number> {
    return this.#chain.exclusively(async () => {
      if (this.#moved !== undefined) throw this.#moved
      const seenAt = BigInt(chainPosition ?? this.#chain.position)
      let [first, last] = [-1, -1]
      for (const batch of slicesOf(this.#encoded(events, seenAt), ({ length }) => length, MAX_BATCH_BYTES)) {
        last = await this.#log.append('node', batch)
        await this.#check(last - batch.length)
        this.#last = last
        if (first < 0) first = last - batch.length + 1
        // A snapshot of 300,000 transactions takes seconds: serve health and metrics in between.
        await setImmediate()
      }
      if (consecutive !== undefined && last - first + 1 !== consecutive)
        throw new LogMovedError(
          `another poller wrote into the snapshot at position ${String(first)} of topic node`,
        )
      return first
    })
  }

  /**
   * Checks the events between the last two writes of this poller. Events of superseded pollers are allowed, because readers drop
   * them. @throws LogMovedError for events of this epoch, and if the log has become shorter.
   */
  async #check(before: number): Promise<void> {
    const last = this.#last ?? before
    if (before < last) this.#moved = new LogMovedError(`topic node has lost events after ${String(before)}`)
    for await (const record of recordsOf(this.#log, 'node', last + 1, before))
      if (messageIn(NodeEventSchema, record)?.epoch === this.#chain.epoch)
        this.#moved = new LogMovedError(
          'topic node holds an event of this epoch that this poller did not write',
        )
    if (this.#moved !== undefined) throw this.#moved
  }

  *#encoded(events: Iterable<Payload>, chainPosition: bigint): Generator<Uint8Array> {
    for (const event of events) {
      const fields = { epoch: this.#chain.epoch, sequence: this.#sequence++, chainPosition, event }
      yield toBinary(NodeEventSchema, create(NodeEventSchema, fields))
    }
  }
}

/** A change of the mempool. */
interface Change {
  readonly entered: readonly MempoolTx[]
  readonly left: readonly Left[]
  readonly passed: readonly Passed[]
}

/** A transaction of a change. */
type Part =
  | { readonly kind: 'left'; readonly left: MessageInitShape<typeof PoolLeftSchema> }
  | { readonly kind: 'passed'; readonly passed: MessageInitShape<typeof PoolPassedSchema> }
  | { readonly kind: 'entered'; readonly tx: MempoolTx }

/** The approximate size of a transaction that left or passed through, without its bytes. */
const LEFT_BYTES = 100

function partBytes(part: Part): number {
  if (part.kind === 'entered') return txBytes(part.tx)
  return LEFT_BYTES + (part.kind === 'left' ? (part.left.raw?.length ?? 0) : 0)
}

const txBytes = ({ raw }: MempoolTx): number => raw.length + ENTRY_BYTES

function entry({ txid, raw, fee, firstSeen }: MempoolTx): MessageInitShape<typeof PoolEntrySchema> {
  return { txid: displayBytes(txid), raw, fee, firstSeen }
}

function leaving({ tx, cause, signalled }: Left, network: Network): MessageInitShape<typeof PoolLeftSchema> {
  const vsize = vsizeOf(weightOf(parseTx(tx.raw), network), network)
  const { firstSeen, fee } = tx
  // The chain has the transactions that blocks confirm.
  const raw = cause.reason === 'confirmed' ? {} : { raw: tx.raw }
  const signals = signalled === undefined ? {} : { signalled }
  return { txid: displayBytes(tx.txid), fee, vsize, firstSeen, ...raw, ...signals, ...causeOf(cause) }
}

function causeOf(cause: Cause): MessageInitShape<typeof PoolLeftSchema> {
  switch (cause.reason) {
    case 'confirmed':
      return {
        reason: PoolLeft_Reason.CONFIRMED,
        by: displayBytes(cause.block),
        blockHeight: cause.height,
      }
    case 'replaced':
      return { reason: PoolLeft_Reason.REPLACED, by: displayBytes(cause.by) }
    case 'evicted':
      return { reason: PoolLeft_Reason.EVICTED }
    case 'expired':
      return { reason: PoolLeft_Reason.EXPIRED }
    case 'unknown':
      return { reason: PoolLeft_Reason.UNKNOWN }
  }
}

const passing = ({ txid, fee, vsize, block, height }: Passed): MessageInitShape<typeof PoolPassedSchema> => ({
  txid: displayBytes(txid),
  fee,
  vsize,
  block: displayBytes(block),
  blockHeight: height,
})

/** Returns the fee rates of a node in base units per 1000 virtual bytes. */
function relayFeesOf({
  mempoolminfee,
  minrelaytxfee,
  incrementalrelayfee,
}: NodeMempoolInfo): MessageInitShape<typeof RelayFeesSchema> {
  return {
    mempoolMin: coinsToBaseUnits(mempoolminfee),
    ...(minrelaytxfee === undefined ? {} : { minRelay: coinsToBaseUnits(minrelaytxfee) }),
    ...(incrementalrelayfee === undefined ? {} : { incremental: coinsToBaseUnits(incrementalrelayfee) }),
  }
}
