import { type Network, networkNamed } from '../chain/networks.js'
import { hexOf } from '../chain/hash.js'
import { generationOf, offsetOf } from '../events/positions.js'
import type { EventLog } from '../log/port.js'
import { compareBlock, type Difference } from '../mempool/expected-block.js'
import { fullId, type LeanTx, shortId } from '../mempool/lean-tx.js'
import type { NodeRecord } from '../mempool/mempool-events.js'
import { ObservedMempool } from '../mempool/observed-mempool.js'
import { inSlices, projectedWeight } from '../mempool/projection.js'
import { RATE_STEPS, stepOfTx } from '../mempool/rate-steps.js'
import { summing } from '../mempool/rate-bands.js'
import type { Database } from '../tables/clickhouse.js'
import {
  BLOCK_DIFFERENCES,
  DIFFERENCE_KINDS,
  type DifferenceKind,
  EXPECTED_BLOCKS,
  MAX_DIFFERENCES,
  MEMPOOL_ARRIVALS,
  MEMPOOL_SAMPLES,
  NO_MIN_FEE,
  SAMPLE_STEPS,
} from '../tables/mempool/history.js'
import { EncodedRows } from '../tables/rowbinary.js'
import type { Book } from './book.js'
import { ChainSteps, type ChainStep } from './chain-steps.js'

/** More changes of the chain than this since the mempool was observed are caught up with: nothing was expected of their blocks. */
const MAX_CHANGES = 32
const MINUTE_MS = 60_000

interface Rows {
  readonly samples: EncodedRows<typeof MEMPOOL_SAMPLES.columns>
  readonly arrivals: EncodedRows<typeof MEMPOOL_ARRIVALS.columns>
  readonly blocks: EncodedRows<typeof EXPECTED_BLOCKS.columns>
  readonly differences: EncodedRows<typeof BLOCK_DIFFERENCES.columns>
}

const noRows = (): Rows => ({
  samples: new EncodedRows(MEMPOOL_SAMPLES),
  arrivals: new EncodedRows(MEMPOOL_ARRIVALS),
  blocks: new EncodedRows(EXPECTED_BLOCKS),
  differences: new EncodedRows(BLOCK_DIFFERENCES),
})

/** The virtual sizes of what entered the mempool, and of what left it without a block, by the steps of fee rates. */
class Arrivals {
  readonly entered = new Array<number>(RATE_STEPS).fill(0)
  readonly dropped = new Array<number>(RATE_STEPS).fill(0)

  add(kind: 'entered' | 'dropped', txs: readonly LeanTx[]): void {
    const vsizes = this[kind]
    for (const tx of txs) {
      const step = stepOfTx(tx)
      vsizes[step] = (vsizes[step] as number) + tx.vsize
    }
  }
}

/** The mempool as it is known after an event. */
class Observation {
  readonly mempool = new ObservedMempool()
  /** The position of topic `chain` up to which blocks have been applied; undefined before the first event. */
  chainPosition: number | undefined
  hasSnapshot = false
  /** False while the mempool is not that of the node. */
  isCurrent = false
  /** The number of changes of the chain since the mempool was observed. */
  changes = 0
  /** Time of the last event by which the mempool is known to be that of the node, in Unix milliseconds. */
  observedAt = 0
  /** The minute of the newest event, and whether the mempool was observed in it. */
  minute = -1
  isSampled = false
  /** The arrivals of this minute; undefined unless it was observed from its begin on, without a snapshot. */
  arrivals: Arrivals | undefined
  /** Time of the newest event, in Unix milliseconds. */
  time = 0
  entered = 0
  minFee = NO_MIN_FEE
}

/** The chain that the mempool belongs to. */
interface Source {
  readonly network: Network
  readonly chain: ChainSteps
}

/**
 * Samples the mempool every minute, and compares each block with the one that was expected. A sample is the state after the events of
 * its minute. A block is compared with the mempool of the events that were observed before it, after the blocks in between.
 */
export class HistoryBook implements Book {
  readonly #db: Pick<Database, 'insert'>
  readonly #log: EventLog
  #source: Source | undefined
  #now = new Observation()
  #rows = noRows()

  constructor(db: Pick<Database, 'insert'>, log: EventLog) {
    this.#db = db
    this.#log = log
  }

  get #from(): Source {
    if (this.#source === undefined) throw new Error('the network is not known before reset')
    return this.#source
  }

  get bytes(): number {
    const { samples, arrivals, blocks, differences } = this.#rows
    return [samples, arrivals, blocks, differences].reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  reset(chain: string): void {
    const network = networkNamed(chain)
    this.#source = { network, chain: new ChainSteps(this.#log, network) }
    this.#now = new Observation()
    this.#rows = noRows()
  }

  async apply(event: NodeRecord<LeanTx>, isWritten: boolean): Promise<void> {
    const now = this.#now
    const time = event.kind === 'delta' ? event.delta.time : event.time
    await this.#endMinute(time, isWritten)
    await this.#followChain(event.seenAt, isWritten)
    now.time = Math.max(now.time, time)
    if (event.kind === 'heartbeat') {
      const { nodeHash, relayFees } = event.heartbeat
      now.minFee = relayFees === undefined ? NO_MIN_FEE : Number(relayFees.mempoolMin)
      if (now.isCurrent && hexOf(nodeHash) === this.#from.chain.tip) this.#observed(time)
      return
    }
    if (event.kind === 'snapshot') {
      now.arrivals = undefined
      await now.mempool.replace(event.entries)
      now.entered = event.enteredBefore
      now.hasSnapshot = true
    } else {
      const { left, entered, passed, enteredBefore } = event.delta
      const ids = left.map(({ txid }) => shortId(txid))
      // What a block removed is no longer in the mempool, and what a disconnected block returned still is: neither is counted.
      now.arrivals?.add('dropped', now.mempool.txs.those(ids))
      const arriving = entered.filter(({ txid }) => now.mempool.txs.get(txid) === undefined)
      await now.mempool.change(ids, entered)
      now.arrivals?.add('entered', arriving)
      now.entered = enteredBefore + passed.length + entered.length
    }
    now.isCurrent = now.hasSnapshot && event.seenAt >= 0
    if (!now.isCurrent) now.arrivals = undefined
    if (now.isCurrent) this.#observed(time)
  }

  async flush(): Promise<void> {
    const { samples, arrivals, blocks, differences } = this.#rows
    this.#rows = noRows()
    // The blocks last: readers look for differences only of blocks that exist.
    await this.#db.insert(samples)
    await this.#db.insert(arrivals)
    await this.#db.insert(differences)
    await this.#db.insert(blocks)
  }

  /** Notes that the mempool is that of the node. */
  #observed(time: number): void {
    const now = this.#now
    now.observedAt = time
    now.changes = 0
    now.isSampled = true
  }

  /** Samples the mempool if an event is the first one of a new minute. */
  async #endMinute(time: number, isWritten: boolean): Promise<void> {
    const now = this.#now
    const minute = Math.floor(time / MINUTE_MS)
    if (minute <= now.minute) return
    if (now.isSampled && now.isCurrent && !isWritten) {
      const { value } = await inSlices(summing(now.mempool.txs.values()))
      const seconds = now.minute * (MINUTE_MS / 1000)
      for (const step of Object.values(SAMPLE_STEPS))
        this.#rows.samples.add({
          step,
          start: seconds - (seconds % step),
          taken_at: now.time,
          tx_count: value.count,
          vsize: value.vsize,
          fees: value.fees,
          min_fee: now.minFee,
          entered: now.entered,
          bands: value.bands.map(BigInt),
        })
    }
    const { arrivals } = now
    if (arrivals !== undefined && now.isSampled && now.isCurrent && !isWritten)
      this.#rows.arrivals.add({
        start: now.minute * (MINUTE_MS / 1000),
        entered: arrivals.entered.map(BigInt),
        dropped: arrivals.dropped.map(BigInt),
      })
    now.arrivals = now.isCurrent && minute === now.minute + 1 ? new Arrivals() : undefined
    now.minute = minute
    now.isSampled = false
  }

  /** Applies the changes of the chain up to a position of topic `chain`. */
  async #followChain(to: number, isWritten: boolean): Promise<void> {
    const now = this.#now
    const from = now.chainPosition
    if (from !== undefined && to <= from) return
    now.chainPosition = to
    const count = from === undefined || generationOf(from) !== generationOf(to) ? Infinity : to - from
    now.changes += count
    if (from === undefined || !now.isCurrent || now.changes > MAX_CHANGES) {
      now.isCurrent = false
      now.arrivals = undefined
      await this.#from.chain.skipTo(offsetOf(to))
      return
    }
    for await (const step of this.#from.chain.between(offsetOf(from) + 1, offsetOf(to)))
      await this.#applyChange(step, isWritten)
  }

  async #applyChange(step: ChainStep, isWritten: boolean): Promise<void> {
    const now = this.#now
    if (step.kind === 'broken') {
      now.isCurrent = false
      now.arrivals = undefined
      return
    }
    const { block } = step
    if (step.kind === 'disconnected') {
      await now.mempool.disconnect(block.hash, block.txs)
      return
    }
    if (now.isCurrent && !isWritten) await this.#compare(step)
    await now.mempool.connect(block.hash, block.txs)
  }

  async #compare({ block, time }: Exclude<ChainStep, { kind: 'broken' }>): Promise<void> {
    const { mempool, observedAt } = this.#now
    const seconds = Math.floor(time / 1000)
    const maxWeight = projectedWeight(this.#from.network)
    const { expected, mined, matched, missing, added } = await compareBlock(
      mempool.txs,
      block.txs,
      maxWeight,
      seconds,
    )
    const key = { height: block.height, hash: block.hash, seen_at: time }
    this.#rows.blocks.add({
      ...key,
      observed_at: observedAt,
      expected_count: expected.count,
      expected_weight: expected.weight,
      expected_vsize: expected.vsize,
      expected_fees: expected.fees,
      mined_count: mined.count,
      mined_weight: mined.weight,
      mined_vsize: mined.vsize,
      mined_fees: mined.fees,
      matched_count: matched.count,
      matched_weight: matched.weight,
      matched_vsize: matched.vsize,
      matched_fees: matched.fees,
    })
    this.#addDifferences(key, 'missing', missing)
    this.#addDifferences(key, 'added', added)
  }

  #addDifferences(
    key: { readonly height: number; readonly hash: string; readonly seen_at: number },
    kind: DifferenceKind,
    differences: readonly Difference<string>[],
  ): void {
    for (const [item, { tx, rated, reason }] of differences.slice(0, MAX_DIFFERENCES).entries())
      this.#rows.differences.add({
        ...key,
        kind: DIFFERENCE_KINDS.indexOf(kind),
        item,
        txid: fullId(tx.txid),
        fee: tx.fee,
        vsize: tx.vsize,
        rated_fee: rated.fee,
        rated_vsize: rated.vsize,
        reason,
      })
  }
}
