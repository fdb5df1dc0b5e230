import { type Difference, Findings } from '../../../../pipelines/audit/audit.js'
import { compareBlock } from '../../../../pipelines/audit/block-check.js'
import { countDay } from '../../../../pipelines/audit/day-checks.js'
import { dayOf } from '../../../../pipelines/chain/time.js'
import type { Logger } from '../../../../pipelines/logger.js'
import { NodeClient } from '../../../../pipelines/node/client.js'
import type { Database } from '../../../../pipelines/tables/clickhouse.js'
import type { AvailableDatabase } from '../tables/availability.js'
import { newestFence } from '../../../../pipelines/tables/writers.js'
import type { State } from '../state/state.js'

export interface AuditWatchParts {
  readonly db: Database
  readonly database: Pick<AvailableDatabase, 'connected'>
  readonly state: State
  /** Returns the URL of the node's RPC; undefined if it is not known. */
  readonly locate: () => Promise<string | undefined>
  readonly logger: Logger
  /** The interval between two rounds in milliseconds; 0 disables the audit. */
  readonly everyMs: number
}

/** The result of the last round. */
export interface AuditResult {
  /** ISO 8601; null before the first round. */
  readonly checkedAt: string | null
  /** Blocks, days, tips and mempools that were checked since the start. */
  readonly checks: number
  readonly differences: number
  /** The reason why the last round failed. */
  readonly error?: string
}

const NODE_TIMEOUT_MS = 10_000
/** Blocks near the tip are more likely to be wrong: every other round checks one of this many newest blocks. */
const NEAR_TIP = 100

/**
 * A continuous audit: each round compares one block with all its transactions, one day, the tip and the mempool with the node.
 * Differences of tip and mempool, which change all the time, count if two consecutive rounds find them.
 */
export class AuditWatch {
  readonly #parts: AuditWatchParts
  readonly #stop = new AbortController()
  #result: AuditResult = { checkedAt: null, checks: 0, differences: 0 }
  /** The differences of tip and mempool that the last round found. */
  #moving: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | undefined
  #rounds = 0

  constructor(parts: AuditWatchParts) {
    this.#parts = parts
  }

  get result(): AuditResult {
    return this.#result
  }

  start(): void {
    const { everyMs } = this.#parts
    if (everyMs === 0 || this.#stop.signal.aborted) return
    this.#timer = setTimeout(() => {
      void this.round().finally(() => {
        this.start()
      })
    }, everyMs)
    this.#timer.unref()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
  }

  /** Runs one round. */
  async round(): Promise<void> {
    const { locate, logger } = this.#parts
    const url = await locate().catch(() => undefined)
    if (url === undefined) return this.#failed('no node was found')
    const node = new NodeClient(url, { maxAttempts: 1, timeoutMs: NODE_TIMEOUT_MS })
    try {
      await this.#compare(node)
    } catch (error) {
      if (this.#stop.signal.aborted) return
      logger.debug({ err: error }, 'audit failed')
      this.#failed('node or database unreachable')
    } finally {
      node.close()
    }
  }

  #failed(error: string): void {
    const { checkedAt, checks, differences } = this.#result
    this.#result = { checkedAt, checks, differences, error }
  }

  async #compare(node: NodeClient): Promise<void> {
    const { db, state, database, logger } = this.#parts
    const { view, tip, recent, fence } = state.chain
    if (!state.ready || !database.connected || view === undefined || tip === undefined)
      return this.#failed('nothing is indexed, or the database is unreachable')
    const { signal } = this.#stop
    const { blocks } = state.chain
    if ((await node.blockHash(0, signal)) !== blocks.hashAt(0))
      return this.#failed('the node follows another chain')
    const findings = new Findings()
    const moving = new Findings()
    const height = this.#height(tip.height)
    await compareBlock({ db, node, signal, view }, height, findings)
    const day = recent[Math.floor(Math.random() * recent.length)]?.time ?? tip.time
    await countDay({ db, view, head: view.head }, dayOf(day), findings)
    moving.expect('hash of the tip', tip.hash, await this.#hashAt(node, tip.height))
    const reported = new Set(await node.mempoolTxids(signal))
    const ownTxids = new Set([...state.mempool.snapshot().values()].map(({ txid }) => txid))
    for (const txid of new Set([...reported, ...ownTxids]))
      moving.expect(`unconfirmed ${txid}`, ownTxids.has(txid), reported.has(txid))
    // After a reorganisation or under a new writer, the compared rows may not belong to the chain any more.
    const isOfChain = state.chain.view?.isCanonical(view.head.tipHeight, view.head.tipHash) === true
    const isStill = isOfChain && (await newestFence(db)) === fence
    const persisting = this.#persisting(moving.differences)
    const differences = [...(isStill ? findings.differences : []), ...persisting]
    for (const difference of differences) logger.error(difference, 'audit difference found')
    const checks = this.#result.checks + 4
    this.#result = { checkedAt: new Date().toISOString(), checks, differences: differences.length }
  }

  #height(tip: number): number {
    const span = this.#rounds++ % 2 === 0 ? Math.min(NEAR_TIP, tip + 1) : tip + 1
    return tip - Math.floor(Math.random() * span)
  }

  /** Returns the node's block hash at a height; an error counts as a difference, because the node may be lower than the index. */
  async #hashAt(node: NodeClient, height: number): Promise<string> {
    return node.blockHash(height, this.#stop.signal).catch(() => 'not known to the node')
  }

  #persisting(now: readonly Difference[]): Difference[] {
    const key = ({ what, expected }: Difference): string => `${what} ${expected}`
    const again = now.filter((each) => this.#moving.has(key(each)))
    this.#moving = new Set(now.map(key))
    return again
  }
}
