import type { EventLog } from '../../log/port.js'
import type { MempoolTx } from '../../mempool/mempool-tx.js'
import type { ChainWriter } from '../chain/chain-writer.js'
import type { NodeWriter } from './node-writer.js'
import type { Mempool } from './mempool.js'
import { type Left, mempoolChange, type MempoolChange } from './delta.js'
import { fetchMempoolTxs, type MempoolFetchSources } from './fetch.js'
import { readMempool, type MempoolState } from './log.js'

/** A new reader never has to read more than this much before the mempool is whole. */
const SNAPSHOT_EVERY_MS = 10 * 60_000
const SNAPSHOT_EVERY_DELTAS = 1000
/**
 * A larger mempool is written as much more rarely, so that its snapshots take no more of the log: but four times a day, since
 * the log keeps a day.
 */
const SNAPSHOT_BYTES = 4 << 20
const RAREST = 36
/** How long the node's signs of an unchanged mempool are believed. */
const COMPARE_EVERY_MS = 60_000
/** Transactions fetched before the chain is looked at again: a mempool of 100,000 must not hold up the blocks. */
const AT_ONCE = 2000

export interface MempoolSources extends MempoolFetchSources {
  readonly log: EventLog
  readonly chain: ChainWriter
  readonly writer: NodeWriter
  /** Milliseconds that pass steadily. */
  readonly now: () => number
}

/** The node's signs of its mempool's state, and when they were looked at. */
interface MempoolSigns {
  readonly sign: string
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
   * Whether a block may have left since the mempool was told: readers hold its transactions to be in the mempool until the mempool beside
   * the new branch is told, also where nothing in it has changed.
   */
  #hasLeft = true
  /** The signs at the last comparison after which log and node were level. */
  #compared: MempoolSigns | undefined
  /** What entered by the last comparison and was too much for one look. */
  #toFetch: readonly string[] = []

  private constructor(sources: MempoolSources, state: MempoolState, snapshotPosition: number) {
    this.#sources = sources
    this.mempool = state.mempool
    this.#snapshotPosition = snapshotPosition
    this.#snapshotTime = state.snapshotTime
    this.#deltas = state.deltas
    this.#chainPosition = state.chainPosition
  }

  /** Goes on from the mempool that the log holds. */
  static async start(sources: MempoolSources): Promise<MempoolFollower> {
    const state = await readMempool(sources.log, sources.logger, sources.chain.identity.network)
    if (state.snapshotPosition !== undefined)
      return new MempoolFollower(sources, state, state.snapshotPosition)
    const position = await sources.writer.snapshot(-1, 0n, [])
    return new MempoolFollower(sources, { ...state, snapshotTime: Date.now() }, position)
  }

  /**
   * Brings the log's mempool level with the node's, which counts only where its tip is ours before and after. The whole of it
   * is compared where something says that it has changed, and at least once a minute; only what is new is fetched.
   * @returns `moved` where the tip is not ours, `more` where there was too much for one look, else `level`.
   */
  async look(signal: AbortSignal): Promise<'level' | 'more' | 'moved'> {
    const { node, chain } = this.#sources
    const state = await this.#stateNow(signal)
    if (this.#isAsCompared(state)) {
      await this.#seenAt(chain.position)
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
    // Who replaced whom is certain only once all that entered is known.
    await this.#write(entered, all ? this.mempool.reasons(change.left, entered) : [])
    // What was left out is looked for again.
    this.#compared = all && entered.length === now.length ? state : undefined
    await this.#seenAt(chain.position)
    return all ? 'level' : 'more'
  }

  /** What changes with nearly every change of the mempool, and costs the node nothing. */
  async #stateNow(signal: AbortSignal): Promise<MempoolSigns> {
    const { node, chain, now } = this.#sources
    const { size, bytes, usage, total_fee } = await node.mempoolInfo(signal)
    const tip = chain.chain.tip?.hash
    return { sign: [tip, size, bytes, usage, total_fee].join(), at: now() }
  }

  /** That the signs are the same proves nothing: hence the minute. */
  #isAsCompared({ sign, at }: MempoolSigns): boolean {
    const before = this.#compared
    if (this.#hasLeft || before?.sign !== sign) return false
    return at - before.at < COMPARE_EVERY_MS
  }

  async #compare(signal: AbortSignal): Promise<MempoolChange> {
    const change = mempoolChange(this.mempool.txs, await this.#sources.node.mempoolTxids(signal))
    this.#toFetch = change.entered
    return change
  }

  async #write(entered: readonly MempoolTx[], left: readonly Left[]): Promise<void> {
    if (entered.length + left.length === 0 && !this.#hasLeft) return
    const { writer } = this.#sources
    this.#deltas += await writer.delta(this.#snapshotPosition, this.mempool.entered, { entered, left })
    for (const { txid } of left) this.mempool.leave(txid)
    for (const tx of entered) this.mempool.enter(tx)
    this.#hasLeft = false
  }

  async #seenAt(chainPosition: number): Promise<void> {
    this.#chainPosition = chainPosition
    await this.snapshotIfDue()
  }

  /** The tip left the chain. */
  blockDisconnected(hash: string): void {
    this.#hasLeft = true
    this.#toFetch = []
    this.mempool.blockDisconnected(hash)
  }

  async snapshotIfDue(): Promise<void> {
    const age = Date.now() - this.#snapshotTime
    const rarer = Math.min(Math.max(1, this.mempool.bytes / SNAPSHOT_BYTES), RAREST)
    if (age < rarer * SNAPSHOT_EVERY_MS && this.#deltas < rarer * SNAPSHOT_EVERY_DELTAS) return
    const { writer } = this.#sources
    this.#snapshotPosition = await writer.snapshot(
      this.#chainPosition,
      this.mempool.entered,
      this.mempool.txs.values(),
    )
    this.#snapshotTime = Date.now()
    this.#deltas = 0
  }
}
