import type { EventLog } from '../../log/port.js'
import type { MempoolTx } from '../../mempool/mempool-tx.js'
import type { NodeMempoolInfo } from '../../node/replies.js'
import type { ChainWriter } from '../chain/chain-writer.js'
import type { NodeWriter } from './node-writer.js'
import type { Mempool } from './mempool.js'
import { type Left, mempoolChange, type MempoolChange, type Passed } from './delta.js'
import { fetchMempoolTxs, type MempoolFetchSources } from './fetch.js'
import { readMempool, type MempoolState } from './log.js'

/** Limits after which a new snapshot is written, so that a new reader does not have to read more than this. */
const SNAPSHOT_EVERY_MS = 10 * 60_000
const SNAPSHOT_EVERY_DELTAS = 1000
/**
 * The size above which snapshots become less frequent in proportion, so that they take no more of the log. There are at least
 * four per day, since the log retains one day.
 */
const SNAPSHOT_BYTES = 4 << 20
const MAX_FACTOR = 36
/** The maximum time between comparisons while the node's statistics of its mempool do not change. */
const COMPARE_EVERY_MS = 60_000
/** Transactions fetched before the chain is checked again: a mempool of 100,000 transactions must not delay blocks. */
const AT_ONCE = 2000

export interface MempoolSources extends MempoolFetchSources {
  readonly log: EventLog
  readonly chain: ChainWriter
  readonly writer: NodeWriter
  /** The age from which on the node drops a transaction, in hours. */
  readonly expiryHours?: number | undefined
  /** Returns milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** The node's statistics of its mempool with its tip, and the time at which they were read. */
interface MempoolSummary {
  readonly text: string
  readonly at: number
}

/** Keeps the log's mempool level with the node's. */
export class MempoolFollower {
  readonly mempool: Mempool
  readonly #sources: MempoolSources
  #snapshotPosition: number
  #snapshotTime: number
  #deltas: number
  #chainPosition: number
  /**
   * True if a block may have been disconnected since the last delta. Readers keep its transactions in the mempool until they
   * receive a delta for the new branch, so that one is written even if the mempool has not changed.
   */
  #hasLeft = true
  /** The summary at the last comparison after which log and node were level. */
  #compared: MempoolSummary | undefined
  /** Transactions of the last comparison that are not fetched yet. */
  #toFetch: readonly string[] = []

  private constructor(sources: MempoolSources, state: MempoolState, snapshotPosition: number) {
    this.#sources = sources
    this.mempool = state.mempool
    this.#snapshotPosition = snapshotPosition
    this.#snapshotTime = state.snapshotTime
    this.#deltas = state.deltas
    this.#chainPosition = state.chainPosition
  }

  /** Continues with the mempool of the log. */
  static async start(sources: MempoolSources): Promise<MempoolFollower> {
    const state = await readMempool(
      sources.log,
      sources.logger,
      sources.chain.identity.network,
      sources.expiryHours,
    )
    if (state.snapshotPosition !== undefined)
      return new MempoolFollower(sources, state, state.snapshotPosition)
    const position = await sources.writer.snapshot(-1, { entered: 0n, left: 0n }, [])
    return new MempoolFollower(sources, { ...state, snapshotTime: Date.now() }, position)
  }

  /**
   * Brings the log's mempool level with the node's, provided that the node has the log's tip before and after. Compares the lists
   * of both if the node's statistics have changed, and at least once a minute; fetches new transactions only.
   * @param info the node's statistics, read just before.
   * @returns `moved` if the node has another tip, `more` if not all new transactions were fetched, else `level`.
   */
  async sync(info: NodeMempoolInfo, signal: AbortSignal): Promise<'level' | 'more' | 'moved'> {
    const { node, chain } = this.#sources
    const state = this.#summary(info)
    if (this.#isAsCompared(state)) {
      await this.#seenAt(chain.position)
      this.mempool.level()
      return 'level'
    }
    const change = this.#toFetch.length > 0 ? undefined : await this.#compare(signal)
    const now = this.#toFetch.slice(0, AT_ONCE)
    const entered = await fetchMempoolTxs(now, this.#sources, signal)
    const { bestblockhash } = await node.chainInfo(signal)
    if (bestblockhash !== chain.chain.tip?.hash) {
      this.#toFetch = []
      return 'moved'
    }
    this.#toFetch = this.#toFetch.slice(now.length)
    const all = change !== undefined && this.#toFetch.length === 0
    // Replacements are certain only when all new transactions are known.
    const causes = all ? await this.#causes(change.left, entered, signal) : []
    // A transaction that was skipped may have replaced others: these wait for the next comparison, unless their cause is certain.
    const left = entered.length === now.length ? causes : causes.filter(({ isCertain }) => isCertain)
    const signalling = left.map(({ tx, cause }): Left => {
      if (cause.reason !== 'replaced') return { tx, cause }
      return { tx, cause, signalled: this.mempool.signals(tx) }
    })
    await this.#write(entered, signalling, this.mempool.takePassed())
    // Compare again if transactions were skipped.
    this.#compared = all && entered.length === now.length ? state : undefined
    await this.#seenAt(chain.position)
    if (all) this.mempool.level()
    return all ? 'level' : 'more'
  }

  /**
   * Returns why transactions have left. Blocks, replacements and age are certain. Otherwise the node has dropped them because its
   * mempool is full, if the fee rate that it requires exceeds the minimum for relaying, as it then does for hours.
   */
  async #causes(
    left: readonly string[],
    entered: readonly MempoolTx[],
    signal: AbortSignal,
  ): Promise<(Left & { readonly isCertain: boolean })[]> {
    const causes = this.mempool.causes(left, entered)
    if (causes.every(({ cause }) => cause !== undefined))
      return causes.map((each) => ({ ...(each as Left), isCertain: true }))
    // Read after the list: it may have become full between the statistics and the list.
    const { mempoolminfee, minrelaytxfee } = await this.#sources.node.mempoolInfo(signal)
    const isFull = minrelaytxfee !== undefined && mempoolminfee > minrelaytxfee
    return causes.map(({ tx, cause }) => ({
      tx,
      cause: cause ?? { reason: isFull ? 'evicted' : 'unknown' },
      isCertain: cause !== undefined,
    }))
  }

  /** Returns statistics that nearly every change of the mempool changes, and that cost the node nothing. */
  #summary({ size, bytes, usage, total_fee }: NodeMempoolInfo): MempoolSummary {
    const { chain, now } = this.#sources
    const tip = chain.chain.tip?.hash
    return { text: [tip, size, bytes, usage, total_fee].join(), at: now() }
  }

  /**
   * Returns whether the last comparison still counts: equal statistics do not prove an equal mempool, so it does for a minute.
   */
  #isAsCompared({ text, at }: MempoolSummary): boolean {
    const before = this.#compared
    if (this.#hasLeft || before?.text !== text) return false
    return at - before.at < COMPARE_EVERY_MS
  }

  async #compare(signal: AbortSignal): Promise<MempoolChange> {
    const change = mempoolChange(this.mempool.txs, await this.#sources.node.mempoolTxids(signal))
    this.#toFetch = change.entered
    return change
  }

  async #write(
    entered: readonly MempoolTx[],
    left: readonly Left[],
    passed: readonly Passed[],
  ): Promise<void> {
    if (entered.length + left.length + passed.length === 0 && !this.#hasLeft) return
    const { writer } = this.#sources
    this.#deltas += await writer.delta(this.#snapshotPosition, this.mempool, { entered, left, passed })
    for (const { tx } of left) this.mempool.leave(tx.txid)
    this.mempool.pass(passed.length)
    for (const tx of entered) this.mempool.enter(tx)
    this.#hasLeft = false
  }

  async #seenAt(chainPosition: number): Promise<void> {
    this.#chainPosition = chainPosition
    await this.snapshotIfDue()
  }

  /** Notes that the tip was disconnected. */
  blockDisconnected(hash: string): void {
    this.#hasLeft = true
    this.#toFetch = []
    this.mempool.blockDisconnected(hash)
  }

  /** Writes a snapshot if the last one is too old. */
  async snapshotIfDue(): Promise<void> {
    const age = Date.now() - this.#snapshotTime
    const factor = Math.min(Math.max(1, this.mempool.bytes / SNAPSHOT_BYTES), MAX_FACTOR)
    if (age < factor * SNAPSHOT_EVERY_MS && this.#deltas < factor * SNAPSHOT_EVERY_DELTAS) return
    const { writer } = this.#sources
    this.#snapshotPosition = await writer.snapshot(
      this.#chainPosition,
      this.mempool,
      this.mempool.txs.values(),
    )
    this.#snapshotTime = Date.now()
    this.#deltas = 0
  }
}
