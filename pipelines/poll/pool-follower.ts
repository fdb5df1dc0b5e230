import { coinsToBaseUnits } from '../chain/amount.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import type { NodeClient } from '../node/client.js'
import { isRpcError, RPC_NOT_FOUND } from '../node/errors.js'
import type { NodePoolEntry } from '../node/replies.js'
import type { ChainWriter } from './chain-writer.js'
import { FetchInOrder } from './fetch-in-order.js'
import type { NodeWriter } from './node-writer.js'
import { poolTx, type Pool } from './pool.js'
import { poolChange, type PoolTx } from './pool-delta.js'
import { readPool, type PoolState } from './pool-log.js'

/** A new reader never has to read more than this much before the pool is whole. */
const SNAPSHOT_EVERY_MS = 10 * 60_000
const SNAPSHOT_EVERY_DELTAS = 1000
/** Transactions fetched before the chain is looked at again: a pool of 100,000 must not hold up the blocks. */
const AT_ONCE = 2000
const MAX_WAITING_BYTES = 32 * 2 ** 20

export interface PoolSources {
  readonly node: NodeClient
  readonly log: EventLog
  readonly chain: ChainWriter
  readonly writer: NodeWriter
  readonly inFlight: number
  readonly logger: Logger
}

/** Keeps the log's pool level with the node's. */
export class PoolFollower {
  readonly pool: Pool
  readonly #sources: PoolSources
  #snapshotPosition: number
  #snapshotTime: number
  #deltas: number
  #chainPosition: number
  /**
   * Whether a block may have left since the pool was told: readers hold its transactions to be in the pool until the pool beside
   * the new branch is told, also where nothing in it has changed.
   */
  #hasLeft = true

  private constructor(sources: PoolSources, state: PoolState, snapshotPosition: number) {
    this.#sources = sources
    this.pool = state.pool
    this.#snapshotPosition = snapshotPosition
    this.#snapshotTime = state.snapshotTime
    this.#deltas = state.deltas
    this.#chainPosition = state.chainPosition
  }

  /** Goes on from the pool that the log holds. */
  static async start(sources: PoolSources): Promise<PoolFollower> {
    const state = await readPool(sources.log, sources.logger)
    if (state.snapshotPosition !== undefined) return new PoolFollower(sources, state, state.snapshotPosition)
    const position = await sources.writer.snapshot(-1, 0n, [])
    return new PoolFollower(sources, { ...state, snapshotTime: Date.now() }, position)
  }

  /**
   * Looks at the node's pool, which counts only where its tip is ours before and after.
   * @returns `moved` where it is not, `more` where there was too much for one look, else `level`.
   */
  async look(signal: AbortSignal): Promise<'level' | 'more' | 'moved'> {
    const { node, chain } = this.#sources
    const listed = await node.pool(signal)
    const { bestblockhash } = await node.chainInfo(signal)
    if (bestblockhash !== chain.chain.tip?.hash) return 'moved'
    const change = poolChange(this.pool.txs, listed)
    const now = change.entered.slice(0, AT_ONCE)
    const all = now.length === change.entered.length
    const entered = await this.#fetch(now, listed, signal)
    // Who replaced whom is certain only once all that entered is known.
    const left = all ? this.pool.reasons(change.left, entered) : []
    if (entered.length + left.length > 0 || this.#hasLeft) {
      const { writer } = this.#sources
      this.#deltas += await writer.delta(this.#snapshotPosition, this.pool.entered, { entered, left })
      for (const { txid } of left) this.pool.leave(txid)
      for (const tx of entered) this.pool.enter(tx)
      this.#hasLeft = false
    }
    this.#chainPosition = chain.position
    await this.snapshotIfDue()
    return all ? 'level' : 'more'
  }

  /** The tip left the chain. */
  blockDisconnected(hash: string): void {
    this.#hasLeft = true
    this.pool.blockDisconnected(hash)
  }

  async snapshotIfDue(): Promise<void> {
    const age = Date.now() - this.#snapshotTime
    if (age < SNAPSHOT_EVERY_MS && this.#deltas < SNAPSHOT_EVERY_DELTAS) return
    const { writer } = this.#sources
    this.#snapshotPosition = await writer.snapshot(
      this.#chainPosition,
      this.pool.entered,
      this.pool.txs.values(),
    )
    this.#snapshotTime = Date.now()
    this.#deltas = 0
  }

  /** What has left the node's pool meanwhile is left out, and so told by the next look or never. */
  async #fetch(
    txids: readonly string[],
    listed: Readonly<Record<string, NodePoolEntry>>,
    signal: AbortSignal,
  ): Promise<PoolTx[]> {
    const fetches = new FetchInOrder<PoolTx | undefined>(
      {
        from: 0,
        to: txids.length - 1,
        inFlight: this.#sources.inFlight,
        maxBytes: MAX_WAITING_BYTES,
        fetch: async (i, stop) => {
          const txid = txids[i] ?? ''
          const tx = await this.#fetchOne(txid, listed[txid], stop)
          return { value: tx, bytes: tx?.raw.length ?? 0 }
        },
      },
      signal,
    )
    const found: PoolTx[] = []
    try {
      for (let next = await fetches.next(); next.length > 0; next = await fetches.next()) {
        for (const tx of next) if (tx !== undefined) found.push(tx)
      }
    } finally {
      fetches.close()
    }
    return found
  }

  async #fetchOne(
    txid: string,
    listed: NodePoolEntry | undefined,
    signal: AbortSignal,
  ): Promise<PoolTx | undefined> {
    if (listed === undefined) return undefined
    try {
      const raw = await this.#sources.node.rawTransaction(txid, signal)
      return poolTx(txid, raw, coinsToBaseUnits(listed.fees.base), listed.time)
    } catch (error) {
      if (isRpcError(error, RPC_NOT_FOUND)) return undefined
      if (!(error instanceof RangeError)) throw error
      this.#sources.logger.warn({ txid }, `${error.message}; left out until the next poll`)
      return undefined
    }
  }
}
